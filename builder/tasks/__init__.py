"""One module a task family, and the suites that configure them (suites/*.toml)."""

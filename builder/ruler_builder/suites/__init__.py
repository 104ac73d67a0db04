"""The project's suites (*.toml), their wording, and what the parameters of all tasks share."""

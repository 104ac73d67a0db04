"""The project's suites: a TOML file for each, such as ruler.toml."""

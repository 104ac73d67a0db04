"""What any room may use: TOML, keyed random draws, worker processes, progress bars."""

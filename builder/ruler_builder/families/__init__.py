"""A room a task family: its parameters, how its rows are made, and how they are read back."""

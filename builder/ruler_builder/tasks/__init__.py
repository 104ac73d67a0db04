"""The tasks: one file each, with its parameters, its rows and their audit."""

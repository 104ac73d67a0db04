"""Files that an export copies into its folder: the scorer of a row, and tasks that call it."""

"""Files that an export copies into its folder: the scorer, and the tasks that call it."""

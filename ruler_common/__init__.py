"""What both sides and the loader share; it imports nothing of the project."""

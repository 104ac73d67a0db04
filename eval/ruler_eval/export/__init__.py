"""A release in the forms of other tools."""

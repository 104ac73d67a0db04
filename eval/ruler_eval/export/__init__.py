"""Export a release in the formats of other tools."""

"""`ruler verify`: a release, as its files are, held to everything that must hold of it."""

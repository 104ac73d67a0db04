"""The tables a person reads."""

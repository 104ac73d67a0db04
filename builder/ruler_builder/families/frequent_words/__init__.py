"""RULER's fwe."""

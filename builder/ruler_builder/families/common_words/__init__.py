"""RULER's cwe."""

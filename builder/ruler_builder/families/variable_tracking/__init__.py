"""RULER's vt."""

"""RULER's niah: eight tasks."""

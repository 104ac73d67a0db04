"""Figures and rows as people read them: on the terminal, in files, and on a page."""

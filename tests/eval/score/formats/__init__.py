"""Tests of the forms of prediction files."""

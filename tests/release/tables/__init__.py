"""Tests of what commands print of the builder's results and of runs."""

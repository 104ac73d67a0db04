"""Results that others published, as data, to be read beside those of a run on other rows."""

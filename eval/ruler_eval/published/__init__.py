"""Results that others published, as data: to be read beside one's own, which are of other rows."""

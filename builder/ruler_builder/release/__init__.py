"""Building a release: order, files, journal, manifest."""

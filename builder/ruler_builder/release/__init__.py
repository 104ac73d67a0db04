"""Building a release: order, files, manifest."""

"""The laws of a release and `ruler verify`, which proves them from the files alone."""

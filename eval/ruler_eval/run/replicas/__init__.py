"""Several engines at once, one an actor of a Ray cluster, each with rows of its own."""

"""One model on the rows of two seeds."""

"""What the evaluation knows of each task family: a module each, and one table of them."""

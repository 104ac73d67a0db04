"""What ONERULER's paper draws of models, by language."""

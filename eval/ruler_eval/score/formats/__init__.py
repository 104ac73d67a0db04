"""The formats of prediction files, one reader each."""

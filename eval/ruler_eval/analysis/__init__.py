"""What scores are made of: kinds of errors, comparisons, correlations."""

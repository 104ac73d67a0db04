"""What ties answers to their rows, and what is odd about them."""

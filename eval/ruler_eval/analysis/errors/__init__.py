"""What wrong answers are: each read, sorted into a kind by the rules of its family, and counted."""

"""What reading a row back to the last character needs, whatever its family."""

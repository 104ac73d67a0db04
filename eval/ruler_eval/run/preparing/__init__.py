"""What is done before a row is sent: it is read, rendered and tokenised, ahead of its turn."""

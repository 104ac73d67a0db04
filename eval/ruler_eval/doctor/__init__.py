"""`ruler doctor`: find out whether the model is weak or its engine is broken."""

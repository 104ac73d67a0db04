"""`ruler doctor`: whether the model is weak or the engine that serves it is broken."""

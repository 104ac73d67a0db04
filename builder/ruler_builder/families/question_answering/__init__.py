"""RULER's qa_1 and qa_2."""

"""The prompt of qa where no documents are given, which stands in no suite."""

WITHOUT_DOCUMENTS = (
    "Answer the question. Only give me the answer and do not output any other words."
    "{context}\n\nQuestion: {question}"
)
"""Figure 3's dotted line; its context is empty."""

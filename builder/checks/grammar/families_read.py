"""The grammar of each task family: a row in, what is not accounted for in it out."""

from __future__ import annotations

from builder.checks.grammar.book_grammar import read_book
from builder.checks.grammar.chains_grammar import read_chains
from builder.checks.grammar.coded_text_grammar import read_coded_text
from builder.checks.grammar.documents_grammar import read_documents
from builder.checks.grammar.niah_grammar import read_niah
from builder.checks.grammar.reading import Grammar
from builder.checks.grammar.word_list_grammar import read_common_words, read_multilingual_words

GRAMMARS: dict[str, Grammar] = {
    "niah": read_niah,
    "variable_tracking": read_chains,
    "common_words": read_common_words,
    "frequent_words": read_coded_text,
    "question_answering": read_documents,
    "multilingual_niah": read_book,
    "multilingual_words": read_multilingual_words,
}

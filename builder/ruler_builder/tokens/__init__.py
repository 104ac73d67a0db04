"""Named tokenizers, exact token counts, and where a text may be counted in pieces."""

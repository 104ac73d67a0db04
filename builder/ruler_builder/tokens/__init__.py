"""Named tokenizers, exact token counts, and the places at which a text may be split."""

"""The 26 languages of ONERULER: prompts and nouns, pairs, errata."""

"""Pinned sources: their registry, download and digests; corpora, word lists, sentences."""

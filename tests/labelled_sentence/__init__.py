"""A toy task family, "copy the sentence with a label", as a reader of CONTRIBUTING.md adds one.

    Below are labelled sentences.
    kqzrte: a fox runs over hills.
    …
    What does the sentence labelled kqzrte say? It says: -> a fox runs over hills

test_new_family.py puts these files where the guide says, into a copy of the project.
"""

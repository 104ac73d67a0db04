"""One row of a release, and what runs answered to it: in the terminal and as a page."""

"""Read every row back completely, by a grammar of its family: nothing may be left over."""

"""When a server is gone, or refuses everything: whether a failure is a row's own or all rows'."""

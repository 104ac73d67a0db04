"""The rows behind the numbers of the page: read, sorted into kinds of errors, made to fit."""

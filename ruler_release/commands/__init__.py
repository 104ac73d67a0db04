"""The commands of `ruler`, one module for each group: flags, a call, and its output."""

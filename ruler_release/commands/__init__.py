"""The commands of `ruler`, a module each: flags, one call, and what is shown of its result."""

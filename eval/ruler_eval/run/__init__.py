"""Run a model on a release: prompts, reasoning, records, progress, backends."""

"""Running a model over a release: prompts, reasoning, records, progress, backends."""

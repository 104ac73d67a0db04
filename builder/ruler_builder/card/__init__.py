"""The dataset card and eval.yaml, rendered from the manifest."""

"""Batch files: requests to be answered later, by a batch API or `vllm run-batch`."""

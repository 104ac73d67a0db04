"""Where prompts go and answers come from: vLLM, a server, transformers, the oracle."""

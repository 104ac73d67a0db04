"""Publishing on the Hugging Face Hub, and bringing back: `ruler push` and `ruler fetch`."""

"""Publish a release on the Hugging Face Hub, and download one, or a part of it."""

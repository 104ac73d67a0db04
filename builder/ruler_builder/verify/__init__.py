"""`ruler verify`: compare a release with its digests, and with what a build makes again."""

"""Makes a release from pinned sources; never imports eval."""

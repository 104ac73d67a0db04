"""Makes a release of the frozen benchmarks; README.md follows one row through the packages."""

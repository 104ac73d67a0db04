"""The laws of a release, proved from its files alone: nothing here reaches what builds."""

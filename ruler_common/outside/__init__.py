"""What a stranger may have made: Parquet files and tokenizers, opened within bounds."""

"""The lake: Parquet files of every entity, its state of now and each change, for questions that nobody foresaw."""

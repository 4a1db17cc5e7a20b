"""What docs and deployment repeat of the code, and `python -m tests.derived`, which writes it: make docs."""

"""python -m benchmarks.oscar: Dealsite's pages beside those of a django-oscar site on PostgreSQL."""

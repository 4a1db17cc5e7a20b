"""Finding deals by their words: an index in files of its own, fed by the table's stream. It never asks the table."""

"""Imports deals from a CSV file: rows.py reads and checks, publishing.py stores, downloads.py fetches pictures."""

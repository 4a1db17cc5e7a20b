"""Dealsite: editors publish deals, shoppers see them, one DynamoDB table holds it all."""

__version__ = "0.2.0"

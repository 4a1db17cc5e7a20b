"""Dealsite: editors publish deals, shoppers see them, one DynamoDB table holds it all."""

"""Everything that is stored: one module a noun, over one DynamoDB table."""

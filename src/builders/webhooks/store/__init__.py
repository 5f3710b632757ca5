"""All SQL of webhooks, a file for each family of statements."""

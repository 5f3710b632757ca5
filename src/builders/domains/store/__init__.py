"""All SQL of account domains."""

"""All SQL of leads."""

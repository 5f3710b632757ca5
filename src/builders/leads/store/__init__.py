"""The SQL of leads."""

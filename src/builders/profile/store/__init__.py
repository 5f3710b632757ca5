"""The SQL of the profile."""

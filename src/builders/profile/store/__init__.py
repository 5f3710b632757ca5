"""All SQL of the profile."""

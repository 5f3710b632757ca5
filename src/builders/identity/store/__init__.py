"""All SQL of identity."""

"""All SQL of identity, a file for each family of tables."""

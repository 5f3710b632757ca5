"""All SQL of the aliases: a file for each family of tables."""

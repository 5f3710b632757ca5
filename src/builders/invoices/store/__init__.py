"""All SQL of the invoices, a file for each family of tables."""

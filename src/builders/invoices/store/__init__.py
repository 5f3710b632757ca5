"""All SQL of the invoices."""

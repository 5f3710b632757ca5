"""SQL of the ledger, a file for each family of tables."""

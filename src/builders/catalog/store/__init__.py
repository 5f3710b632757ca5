"""All SQL of the catalog. Its tables are reference data: no statement names an account."""

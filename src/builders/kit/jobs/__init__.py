"""Background jobs in PostgreSQL."""

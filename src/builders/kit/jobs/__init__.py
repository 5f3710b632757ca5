"""Background jobs in a PostgreSQL queue."""

"""Our own PostgreSQL in the data directory; `server.Embedded` is the door."""

"""The embedded PostgreSQL server in the data directory; `server.EmbeddedServer` is the public interface."""

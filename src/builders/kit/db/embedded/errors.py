"""Errors of the embedded PostgreSQL server."""


class EmbeddedServerError(Exception):
    """The embedded PostgreSQL cannot be used; the message says why and what to do."""

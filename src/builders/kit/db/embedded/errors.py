"""What can be wrong with the embedded PostgreSQL."""


class EmbeddedFailed(Exception):
    """The embedded PostgreSQL cannot be used; the text says why and what to do."""

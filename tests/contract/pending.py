"""The operations of the specification that are not built yet: this list only shrinks."""

PENDING: frozenset[str] = frozenset()

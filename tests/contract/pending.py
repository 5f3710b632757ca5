"""The operations of the specification that are not built yet: this list only shrinks."""

PENDING = frozenset(
    {
        "POST /v1/portfolio/registrars/inventory/import",
    }
)

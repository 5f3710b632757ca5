"""The operations of the specification that are not built yet: this list only shrinks."""

PENDING = frozenset(
    {
        "POST /v1/portfolio/registrars/billing/sync",
        "POST /v1/portfolio/registrars/billing/ensure",
        "GET /v1/portfolio/registrars/billing/charges",
        "POST /v1/portfolio/registrars/billing/charges/apply",
        "POST /v1/portfolio/registrars/billing/import",
        "GET /v1/portfolio/registrars/billing/templates",
        "POST /v1/portfolio/registrars/inventory/import",
        "PUT /v1/portfolio/registrars/{provider}",
        "DELETE /v1/portfolio/registrars/{provider}",
    }
)

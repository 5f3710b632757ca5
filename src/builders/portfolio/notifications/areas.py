"""Which events are about a portfolio: those of the wing's rooms, and what every account is told."""

from collections.abc import Sequence

from builders.webhooks import service as webhooks
from builders.webhooks.records import CatalogEvent

# By what stands before the dot, so a room that is built later is in the catalog with its first event.
PORTFOLIO = ("portfolio_domain", "registrar", "renewal", "parking", "transfer", "billing", "team", "portfolio")
# What happens to the account of a domainer as to any other.
ACCOUNT = ("account", "api_key", "email", "invoice", "onboarding", "profile", "session", "webhook")
PREFERRED = tuple(f"{area}.*" for area in PORTFOLIO)


def list_catalog() -> Sequence[CatalogEvent]:
    """The events that the owner of a portfolio may want, by name."""
    return [event for event in webhooks.list_catalog() if event.area in (*PORTFOLIO, *ACCOUNT)]

"""What an adapter knows of its registrar's API, and from which documents."""

from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    """A behavior of a registrar's API that an adapter relies on."""

    AUTHENTICATION = "Authentication"
    PAGES = "Pages of the list"
    STATES = "States of a domain"
    AUTO_RENEW = "Auto-renew of a domain"
    LOCK = "Lock of a domain"
    SWITCH = "Setting auto-renew"
    PRICES = "Renewal prices"
    BILLS = "Bills"
    AUTH_CODES = "Auth codes"
    TRANSFERS = "States of a transfer"
    ERRORS = "Errors"
    LIMITS = "Rate limit"
    SANDBOX = "Sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSource:
    """A page that describes behaviors of a registrar's API."""

    url: str
    read_on: str  # a day, or a month
    topics: frozenset[Topic]
    is_vendor: bool  # a document of the registrar; else another client of its API, or a report of one


def document(url: str, read_on: str, *topics: Topic) -> ApiSource:
    """Return a document of the registrar, read on a day or in a month."""
    return ApiSource(url=url, read_on=read_on, topics=frozenset(topics), is_vendor=True)


def client(url: str, read_on: str, *topics: Topic) -> ApiSource:
    """Return another client of the API, or a report of one. It verifies nothing."""
    return ApiSource(url=url, read_on=read_on, topics=frozenset(topics), is_vendor=False)

"""Records of saved views."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from builders.kit.values.docs import doc
from builders.kit.values.resources import resource

MAX_VIEWS = 50  # of a member
MAX_NAME, MAX_QUERY = 50, 1000  # characters
COLUMNS = doc("Columns of the list of domains, in their order; none for the usual ones.")
VIEWS = doc(f"Views by name, in your order; at most {MAX_VIEWS}.")


class DomainColumn(StrEnum):
    """A member of a portfolio domain that a list shows as a column."""

    STATUS = "status"
    LIFECYCLE = "lifecycle"
    OWNERSHIP = "ownership"
    REGISTRAR = "registrar"
    FOLDER = "folder"
    TAGS = "tags"
    TLD = "tld"
    EXPIRES_AT = "expires_at"
    DAYS_TO_EXPIRY = "days_to_expiry"
    AUTO_RENEW = "auto_renew"
    LOCKED = "locked"
    PRIVACY = "privacy"
    REGISTERED_ON = "registered_on"
    ACQUIRED_ON = "acquired_on"
    RENEWAL_PRICE = "renewal_price"
    RENEWAL_PRICE_BASE = "renewal_price_base"
    ESTIMATED_VALUE = "estimated_value"
    ASKING_PRICE = "asking_price"
    MIN_OFFER = "min_offer"
    COST = "cost"
    INCOME = "income"
    NET = "net"
    ROI = "roi"
    PINNED = "pinned"
    NOTES = "notes"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A list of domains that a member opens again: its filters and its order."""

    name: Annotated[str, doc("Name of the view.")]
    query: Annotated[str, doc("Query of `GET /v1/portfolio/domains`, such as `status=owned&sort=-roi`.")]


@resource("SavedViewsReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViews:
    """How you view the domains of a portfolio. Each member of the team has views of their own."""

    columns: Annotated[Sequence[DomainColumn], COLUMNS]
    views: Annotated[Sequence[SavedView], VIEWS]


NO_VIEWS = SavedViews(columns=(), views=())

"""Records of saved views."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from builders.kit.values.docs import doc

MAX_VIEWS = 50  # of a member
MAX_NAME, MAX_QUERY = 50, 1000  # characters


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViews:
    """What a member has chosen for the lists of a portfolio."""

    columns: Sequence[DomainColumn]  # empty: the usual ones
    views: Sequence[SavedView]


NO_VIEWS = SavedViews(columns=(), views=())

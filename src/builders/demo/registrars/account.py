"""What a fake registrar holds for its one customer, and the faults that it plays."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum


@dataclass(slots=True, kw_only=True)
class FakeDomain:
    """A domain at a fake registrar."""

    domain: str  # A-label
    expires_at: datetime | None
    created_at: datetime
    auto_renew: bool = True
    locked: bool = True
    privacy: bool = True
    state: str = "active"  # active, expired, redemption, leaving (Gandi); each fake uses the registrar's words
    nameservers: Sequence[str] = ("ns1.example.net", "ns2.example.net")
    renewal_price: Decimal = Decimal("10.98")
    auth_code: str = "Fake-Auth-Code-1"


@dataclass(slots=True, kw_only=True)
class FakeLine:
    """A line of an order; several domains can share one."""

    domains: Sequence[str]  # as the registrar writes them; none: only the text may name one
    operation: str  # registration, renewal, transfer, redemption, privacy, other
    total: Decimal  # tax and fees included; negative in a refund
    years: int | None = 1
    tax: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    text: str | None = None  # in place of the registrar's own description


@dataclass(slots=True, kw_only=True)
class FakePurchase:
    """An order at a fake registrar."""

    order_id: str
    charged_on: date
    lines: Sequence[FakeLine]
    currency: str = "USD"
    parent_order_id: str | None = None  # of a refund


@dataclass(slots=True, kw_only=True)
class FakeTransfer:
    """A transfer at a fake registrar."""

    domain: str
    direction: str  # in, out
    state: str  # pending, completed, failed, cancelled
    started_at: datetime


class Fault(StrEnum):
    """A response that a fake gives in place of the right one."""

    BAD_KEY = "bad_key"
    RESTRICTED = "restricted"
    IP_NOT_ALLOWED = "ip_not_allowed"
    RATE_LIMITED = "rate_limited"  # with a time to wait
    RATE_LIMITED_SILENTLY = "rate_limited_silently"  # without
    SERVER_ERROR = "server_error"
    REFUSED = "refused"  # an error inside HTTP 200 where the registrar does so
    MALFORMED = "malformed"  # half a body
    HANG = "hang"  # no response


WAIT_S = 3600  # that a rate-limited response asks for


@dataclass(slots=True)
class FakeAccount:
    """A customer's account at a fake registrar."""

    domains: list[FakeDomain] = field(default_factory=list)
    orders: list[FakePurchase] = field(default_factory=list)
    transfers: list[FakeTransfer] = field(default_factory=list)
    faults: deque[Fault | None] = field(default_factory=deque)  # for each of the next requests; None: no fault
    requests: int = 0

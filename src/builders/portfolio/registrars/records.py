"""Records of registrars: profiles of providers, and the rows that adapters return.

None in a row means that the registrar does not report the value; it never overwrites a known value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.money import Money

DEFAULT_CONNECTION = "default"  # the name of a connection that is given none
DEFAULT_SYNC_HOURS, MAX_SYNC_HOURS = 24, 24 * 30
MANUAL = "manual:"  # prefix of a registrar without an adapter
MAX_CONNECTIONS = maximums.declare(
    "registrar_connections", 100, of="portfolio", counts="Registrar connections.", code="connection_limit"
)


class Environment(StrEnum):
    """The registrar's production API, or its sandbox."""

    LIVE = "live"
    SANDBOX = "sandbox"


class AuthCodeDelivery(StrEnum):
    """How a registrar delivers the authorization code of a domain."""

    RETURNED = "returned"  # in the response
    EMAILED = "emailed"  # to the registrant
    DASHBOARD = "dashboard"  # only on the registrar's website
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of the API of a registrar."""

    list: bool = True
    auto_renew: bool = True  # the list reports whether auto-renew is on
    lock: bool = True  # the list reports whether a domain is locked
    set_auto_renew: bool = False
    billing: bool = False
    auth_code: AuthCodeDelivery = AuthCodeDelivery.UNSUPPORTED
    transfer_status: bool = False
    parking: bool = False
    sandbox: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialField:
    """A member of the credentials of a registrar."""

    name: str
    label: str
    is_secret: bool = True
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A rate limit of a registrar: requests per seconds."""

    requests: int
    window_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A registrar that the service supports."""

    provider: str
    label: str
    url: str | None  # of the production API; None: no adapter
    sandbox_url: str | None = None
    live_domains: Sequence[str]  # their hosts are production, but for that of the sandbox
    credential_fields: Sequence[CredentialField]
    capabilities: Capabilities
    quota: Quota
    dashboard_url: str | None  # the website for functions that the API lacks; None: unknown
    list_end: str  # what confirms that a list of domains is complete, and where that is documented
    is_verified: bool = True  # the API is documented by the vendor, and not only known from other clients

    @property
    def base_urls(self) -> dict[Environment, str]:
        """Return the base URL of each environment."""
        urls = {Environment.LIVE: self.url, Environment.SANDBOX: self.sandbox_url}
        return {environment: url for environment, url in urls.items() if url is not None}


class HeldStatus(StrEnum):
    """The state of a domain at its registrar."""

    ACTIVE = "active"
    PENDING = "pending"
    EXPIRED = "expired"
    REDEMPTION = "redemption"
    PENDING_DELETE = "pending_delete"
    TRANSFERRING_OUT = "transferring_out"
    SUSPENDED = "suspended"
    GONE = "gone"  # cancelled or transferred to another registrar
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDomain:
    """A domain that a registrar holds for the account."""

    domain: str  # lower-case A-label
    expires_at: datetime | None = None
    created_at: datetime | None = None
    auto_renew: bool | None = None
    locked: bool | None = None
    privacy: bool | None = None
    status: HeldStatus = HeldStatus.UNKNOWN
    status_raw: str | None = None
    nameservers: Sequence[str] | None = None
    renewal_price: Money | None = None


class ChargeKind(StrEnum):
    """Kind of a charge."""

    REGISTRATION = "registration"
    RENEWAL = "renewal"
    TRANSFER = "transfer"
    REDEMPTION = "redemption"
    PRIVACY = "privacy"
    TAX = "tax"
    REFUND = "refund"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledLine:
    """A line of a registrar's bill; of a refund, the total is negative."""

    order_id: str
    line_id: str  # unique within the order
    charged_on: date
    description: str
    domains: Sequence[str]  # as the registrar writes them; several share the line
    kind: ChargeKind
    total: Decimal
    currency: str
    tax: Decimal = Decimal(0)  # within the total
    fees: Decimal = Decimal(0)  # within the total
    years: int | None = None
    parent_order_id: str | None = None  # of a refund: the order that is refunded


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthCode:
    """The authorization code of a domain, or how it is delivered."""

    delivery: AuthCodeDelivery = AuthCodeDelivery.RETURNED
    code: str | None = None  # never stored, logged or published
    expires_at: datetime | None = None

    def __repr__(self) -> str:
        """Leave out the code."""
        return f"AuthCode(delivery={self.delivery!r}, expires_at={self.expires_at!r})"


class TransferDirection(StrEnum):
    """Whether a domain is transferred to or from the registrar."""

    IN = "in"
    OUT = "out"


class TransferState(StrEnum):
    """The state of a transfer at the registrar."""

    PENDING = "pending"
    ACTION_REQUIRED = "action_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Return whether the transfer is under way."""
        return self in {TransferState.PENDING, TransferState.ACTION_REQUIRED}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTransfer:
    """A transfer at the registrar."""

    direction: TransferDirection
    state: TransferState
    status_raw: str
    started_at: datetime | None = None
    completed_at: datetime | None = None
    message: str | None = None


class RunKind(StrEnum):
    """Kind of a run over connections."""

    SYNC = "sync"  # list the domains
    BILLING = "billing"  # list the charges


class ConnectionStatus(StrEnum):
    """The state of a connection."""

    OK = "ok"
    AUTH_FAILED = "auth_failed"
    RESTRICTED = "restricted"
    RATE_LIMITED = "rate_limited"
    STALE = "stale"  # the last sync is older than two intervals
    NEVER_SYNCED = "never_synced"


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialHint:
    """A credential that is set, as it may be shown."""

    name: str
    last4: str | None  # None for a short secret
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A customer's account at a registrar, without its credentials."""

    account_id: UUID  # the portfolio
    id: UUID
    provider: str
    name: str  # unique for the provider in the portfolio
    label: str | None
    environment: Environment
    base_url: str | None  # of a fake; None: the registrar's own
    hints: Sequence[CredentialHint]
    is_enabled: bool
    sync_interval_hours: int
    status: ConnectionStatus
    status_detail: str | None
    last_sync_at: datetime | None
    last_billing_sync_at: datetime | None
    next_allowed_at: datetime | None  # the registrar accepts no request before
    suspected_drop: int  # domains that the last listing did not have, and that are held back; see drops.py
    suspected_drop_at: datetime | None
    disconnected_at: datetime | None  # None while connected
    version: int
    created_at: datetime
    updated_at: datetime

    @property
    def is_manual(self) -> bool:
        """Whether the registrar has no adapter: its data comes from files."""
        return self.provider.startswith(MANUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrarItem:
    """A registrar for display, with its connection if there is one."""

    profile: Profile
    connection: Connection | None
    hints: Sequence[CredentialHint]  # none for a role that does not manage registrars
    domains_count: int  # of the portfolio that the connection keeps up to date

"""Records of registrars: profiles of providers, the rows that adapters return, connections and the inventory.

None in a row means that the registrar does not report the value; it never overwrites a known value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.limits import maximums
from builders.kit.rows import BulkSummary, RowResult, summarize
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.sources import SentTable, TableOptions
from builders.kit.values import clock, domain_names
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.resources import HIDDEN, MONEY, resource
from builders.kit.values.texts import Lowered
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.sources import ApiSource, Topic

DEFAULT_CONNECTION = "default"  # the name of a connection that is given none
DEFAULT_SYNC_HOURS, MAX_SYNC_HOURS = 24, 24 * 30
MANUAL = "manual:"  # prefix of a registrar without an adapter
MAX_IMPORT_ROWS = 10_000
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


@resource("RegistrarCapabilities")
@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of the API of a registrar."""

    list: Annotated[bool, doc("Lists the domains of the account.")] = True
    auto_renew: Annotated[bool, doc("The list reports whether auto-renew is on.")] = True
    lock: Annotated[bool, doc("The list reports whether a domain is locked.")] = True
    set_auto_renew: Annotated[bool, doc("Automatic renewal can be switched.")] = False
    prices: Annotated[bool, doc("Reads the registrar's renewal prices.")] = False
    billing: Annotated[bool, doc("Lists charges.")] = False
    auth_code: Annotated[AuthCodeDelivery, doc("How the auth code of a domain is delivered.")] = (
        AuthCodeDelivery.UNSUPPORTED
    )
    transfer_status: Annotated[bool, doc("Shows the state of a transfer.")] = False
    parking: Annotated[bool, doc("Shows parking revenue.")] = False
    sandbox: Annotated[bool, doc("The registrar has a sandbox.")] = False


@resource("RegistrarCredentialField")
@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialField:
    """A credential that a registrar needs."""

    name: Annotated[str, doc("Name of the member of `credentials`.")]
    label: Annotated[str, doc("The registrar's name of the credential.")]
    is_secret: Annotated[bool, Field(serialization_alias="secret", description="Whether it is a secret.")] = True
    is_required: Annotated[
        bool, Field(serialization_alias="required", description="Whether the registrar needs it.")
    ] = True
    instead_of: Annotated[Sequence[str], doc("Required credentials that are not needed beside this one.")] = ()


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
    quota: Quota
    dashboard_url: str | None  # the website for functions that the API lacks; None: unknown
    list_end: str  # what confirms that a list of domains is complete, and where that is documented
    place: str = ""  # where the registrar's website shows the credentials
    requires: str = ""  # what the registrar requires for access to its API
    aliases: Sequence[str] = ()  # its other names, without spaces and punctuation, as at registries
    resold: Sequence[str] = ()  # registrars that registries show in its place for some names, in the same form
    capabilities: Capabilities = Capabilities()  # the class of an adapter adds what it implements
    sources: Sequence[ApiSource] = ()

    @property
    def base_urls(self) -> dict[Environment, str]:
        """Return the base URL of each environment."""
        urls = {Environment.LIVE: self.url, Environment.SANDBOX: self.sandbox_url}
        return {environment: url for environment, url in urls.items() if url is not None}

    @property
    def topics(self) -> Sequence[Topic]:
        """Return the behaviors of the API that the adapter relies on."""
        offers, named = self.capabilities, {topic for each in self.sources for topic in each.topics}
        absent = {
            Topic.AUTO_RENEW: not offers.auto_renew and Topic.AUTO_RENEW not in named,
            Topic.LOCK: not offers.lock and Topic.LOCK not in named,  # of a single domain only
            Topic.SWITCH: not offers.set_auto_renew,
            Topic.PRICES: not offers.prices,
            Topic.BILLS: not offers.billing,
            Topic.AUTH_CODES: offers.auth_code in {AuthCodeDelivery.DASHBOARD, AuthCodeDelivery.UNSUPPORTED},
            Topic.TRANSFERS: not offers.transfer_status,
            Topic.SANDBOX: not offers.sandbox,
        }
        return [each for each in Topic if not absent.get(each)]

    @property
    def is_verified(self) -> bool:
        """Return whether documents of the registrar describe each behavior that the adapter relies on."""
        known = {topic for each in self.sources if each.is_vendor for topic in each.topics}
        return known.issuperset(self.topics)


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
class RegistrarDomain:
    """A domain of the account, as its registrar or a file of it states it. None: not stated."""

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
    unread: Sequence[str] = ()  # values that the registrar gives and that cannot be read


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
    INVENTORY = "inventory"  # import a list of domains


class ConnectionStatus(StrEnum):
    """The state of a connection."""

    OK = "ok"
    AUTH_FAILED = "auth_failed"
    RESTRICTED = "restricted"
    RATE_LIMITED = "rate_limited"
    STALE = "stale"  # the last sync is older than two intervals
    NEVER_SYNCED = "never_synced"


@resource("RegistrarCredential")
@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialHint:
    """A credential that is set; it is never shown again."""

    name: Annotated[str, doc("Name of the credential.")]
    last4: Annotated[str | None, doc("Its last four characters; null for a short secret.")]
    updated_at: Annotated[datetime, doc("When it was set.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A customer's account at a registrar, without its credentials. The defaults are those of a new one."""

    account_id: UUID  # the portfolio
    id: UUID
    provider: str
    name: str = DEFAULT_CONNECTION  # unique for the provider in the portfolio
    label: str | None = None
    environment: Environment = Environment.LIVE
    base_url: str | None = None  # of a fake; None: the registrar's own
    hints: Sequence[CredentialHint] = ()
    is_enabled: bool = True
    sync_interval_hours: int = DEFAULT_SYNC_HOURS
    status: ConnectionStatus = ConnectionStatus.OK
    status_detail: str | None = None
    last_sync_at: datetime | None = None
    last_billing_sync_at: datetime | None = None
    next_allowed_at: datetime | None = None  # the registrar accepts no request before
    suspected_drop: int = 0  # domains that the last listing did not have, and that are held back; see batches.py
    suspected_drop_at: datetime | None = None
    disconnected_at: datetime | None = None  # None while connected
    version: int = 0  # 0: it is not stored
    created_at: datetime
    updated_at: datetime

    @property
    def is_manual(self) -> bool:
        """Whether the registrar has no adapter: its data comes from files."""
        return self.provider.startswith(MANUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPatch:
    """Changes of a connection by a request; other values stay."""

    credentials: Mapping[str, str | None] = field(repr=False)  # None: cleared
    members: Mapping[str, Any]  # of the connection: arguments of `replace`
    verify: bool  # send a request to the registrar first
    require_valid: bool  # save nothing when that fails


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrarVerification:
    """The registrar's result for the credentials."""

    ok: Annotated[bool, doc("Whether the registrar accepts the credentials.")]
    code: Annotated[RegistrarFailure | None, doc("Kind of the failure; null without one.")]
    message: Annotated[str, doc("The reason as a sentence.")]
    hint: Annotated[str | None, doc("The remedy; null without one.")]
    checked_at: Annotated[datetime, doc("Time of the check.")]


@resource("RegistrarDisconnected")
@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnection:
    """Result of a disconnection."""

    provider: Annotated[str, doc("The registrar.")]
    connection: Annotated[str | None, doc("Name of the connection; null when none was named or found.")]
    disconnected: Annotated[bool, doc("False when there was no such connection, as after a repeated request.")]
    credentials_erased: Annotated[Literal[True], doc("Always true: all credentials are erased.")] = True
    inventory_kept: Annotated[bool, doc("Whether the listed domains of the registrar stay readable.")]
    domains_affected: Annotated[int, doc("Domains that the connection no longer keeps up to date.")]


class InventorySource(StrEnum):
    """Source of a holding."""

    API = "api"  # of the registrar
    IMPORT = "import"  # a file


Provider = Annotated[str, doc("The registrar.")]
ConnectionId = Annotated[UUID, doc("Identifier of the connection.")]
Source = Annotated[InventorySource, doc("Source: the registrar's `api`, or an `import`.")]


@resource(
    "HeldDomainReply",
    computed={"unicode": "The domain in Unicode.", "in_portfolio": "Whether the portfolio has the domain."},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A domain that a registrar holds. Null means that the registrar does not report the value."""

    connection_id: ConnectionId
    provider: Provider
    domain: DomainName
    expires_at: Annotated[datetime | None, doc("When it expires.")]
    registered_at: Annotated[datetime | None, doc("When it was registered.")]
    auto_renew: Annotated[bool | None, doc("Whether the registrar renews it automatically.")]
    locked: Annotated[bool | None, doc("Whether the registrar refuses transfers.")]
    privacy: Annotated[bool | None, doc("Whether the registrar hides the holder's data.")]
    status: Annotated[HeldStatus, doc("Its state at the registrar.")]
    status_raw: Annotated[str | None, doc("Its state in the registrar's own words.")]
    nameservers: Annotated[Sequence[str] | None, doc("Its name servers.")]
    renewal_price: Annotated[Money | None, doc("The registrar's renewal price."), MONEY]
    source: Source
    listing_id: Annotated[UUID, HIDDEN]  # the last listing that had it
    first_seen_at: Annotated[datetime, doc("The first listing that had it.")]
    last_seen_at: Annotated[datetime, doc("The last listing that had it.")]
    missing_since: Annotated[
        datetime | None, doc("The first complete listing without the domain; null while the registrar holds it.")
    ]
    suspected_since: Annotated[
        datetime | None, doc("The listing without the domain, while it is held back as part of a suspicious drop.")
    ]
    # Only of a list.
    domain_id: Annotated[UUID | None, doc("Identifier of the portfolio domain; null without one.")] = None

    @property
    def unicode(self) -> str:
        """Return the domain in Unicode."""
        return domain_names.unicode_of(self.domain)

    @property
    def in_portfolio(self) -> bool:
        """Return whether the portfolio has the domain, for one of a list."""
        return self.domain_id is not None


@resource("SnapshotReply", computed={"age_s": "Seconds since then."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The latest listing of a connection."""

    connection_id: ConnectionId
    provider: Provider
    source: Source
    taken_at: Annotated[datetime, doc("When it ended.")]
    complete: Annotated[bool, doc("Whether the listing is complete; otherwise domains may be out of date.")]
    domains: Annotated[int, doc("Number of domains in the listing.")]
    last_complete_at: Annotated[datetime | None, doc("The latest complete listing; null without one.")]

    @property
    def age_s(self) -> int:
        """Return the seconds since it ended."""
        return max(0, int((clock.now() - self.taken_at).total_seconds()))


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryFilters:
    """Which holdings are listed, as the query has it. None: any."""

    provider: Annotated[str | None, Field(max_length=80), doc("Only domains at this registrar."), Lowered] = None
    domain_id: Annotated[UUID | None, doc("Only this domain of the portfolio.")] = None
    matched: Annotated[
        bool | None,
        doc("Only domains that the portfolio has; with `false`, only domains that it does not have."),
    ] = None
    stale: Annotated[
        bool | None,
        doc("Only domains that are missing or were not listed for 48 hours; with `false`, only the others."),
    ] = None


class ImportMode(StrEnum):
    """Effect on domains that the file does not contain."""

    MERGE = "merge"  # nothing
    REPLACE_SNAPSHOT = "replace_snapshot"  # the registrar no longer holds them


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInventoryImport:
    """A list of domains to import."""

    provider: str
    connection: str | None  # its name, among several to one registrar
    table: SentTable[TableOptions]
    mode: ImportMode
    adds_to_portfolio: bool
    dry_run: bool


@resource("InventoryImportReply", computed={"summary": "How many rows had each outcome."})
@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryImport:
    """Result of an import in the inventory and in the portfolio, by row."""

    import_id: Annotated[UUID, doc("Identifier of the import.")]
    provider: Provider
    connection_id: Annotated[UUID, doc("The connection of the list.")]
    mode: Annotated[ImportMode, doc("Effect on domains that the list did not contain.")]
    dry_run: Annotated[bool, doc("Whether it only reports its effect.")]
    detected: Annotated[DetectedTable, doc("How the list was read.")]
    complete: Annotated[bool, doc("Whether the list counts as complete.")]
    missing: Annotated[int, doc("Domains of the inventory that are missing from a complete list.")]
    updated_domains: Annotated[int, doc("Domains of the portfolio that changed.")]
    added_domains: Annotated[int, doc("Domains that were added to the portfolio.")]
    results: Annotated[
        Sequence[RowResult], doc("Results in the order of the source; `id` is that of the portfolio domain.")
    ]

    @property
    def summary(self) -> BulkSummary:
        """Return how many rows had each outcome."""
        return summarize(self.results)

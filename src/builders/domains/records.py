"""Records of account domains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.aliases.records import LIVE, Rules, SeparatorPolicy
from builders.catalog.records import MailMode, Price
from builders.kit.limits import maximums
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import unicode_of

MAX_DOMAINS = maximums.declare(
    "domains",
    1000,
    of="account",
    counts="Own domains that receive mail, without released ones.",
    code="domain_limit",
)
CHALLENGE_LABEL = "_builders-challenge"  # the first label of the name of the TXT record
CHALLENGE_PREFIX = "builders-verification="  # of the token in the TXT record
FIRST_CHECK = timedelta(minutes=1)  # after a domain was added; each check doubles the delay
DEFAULT_RULES = Rules()


class DomainSource(StrEnum):
    """The source of an account's domain; the operator assigns all but the first."""

    OWNED = "owned"
    LEASED = "leased"
    CONSIGNED = "consigned"
    CATALOG = "catalog"


class AccountDomainStatus(StrEnum):
    """The status of an account domain."""

    PENDING = "pending"  # not yet proved
    LIVE = "live"  # names can be claimed
    SUSPENDED = "suspended"  # its proof is missing; no other account holds it
    RELEASED = "released"


class DomainProof(StrEnum):
    """The proof that an account owns a domain."""

    DNS = "dns"  # the TXT record, checked every day
    OPERATOR = "operator"  # the assignment
    SANDBOX = "sandbox"  # a test key needs no proof


class RecordHealth(StrEnum):
    """The health of a record that mail needs."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"
    UNCHECKED = "unchecked"  # no response yet, or no setting with the expected record


class RecordKind(StrEnum):
    """The records that mail needs."""

    MX = "mx"
    SPF = "spf"
    DKIM = "dkim"
    DMARC = "dmarc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of the last check of one record."""

    status: Annotated[
        RecordHealth, doc("`unchecked`: DNS has not responded yet, or the expected record is unknown.")
    ] = RecordHealth.UNCHECKED
    found: Annotated[tuple[str, ...], doc("The first five values.")] = ()  # each of bounded length
    next_action: Annotated[str | None, doc("The required record.")] = None
    checked_at: Annotated[datetime | None, doc("Time of the last DNS response.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsHealth:
    """The health of the records that mail needs."""

    mx: Finding = Finding()
    spf: Finding = Finding()
    dkim: Finding = Finding()
    dmarc: Finding = Finding()

    @property
    def statuses(self) -> Mapping[RecordKind, RecordHealth]:
        """Return the health by kind of record."""
        return {kind: getattr(self, kind).status for kind in RecordKind}


class ProofSeen(StrEnum):
    """The proof in DNS."""

    FOUND = "found"
    MISSING = "missing"  # no TXT record
    WRONG = "wrong"  # TXT records without the token
    UNKNOWN = "unknown"  # no reliable response


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFinding:
    """The TXT records at the name of the proof."""

    seen: ProofSeen
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsCheck:
    """The result of a check of DNS."""

    proof: ProofFinding | None  # None when the domain needs no proof
    health: DnsHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSettings:
    """The fields of a domain that its account sets."""

    default_destination: str | None = None  # of mail without a destination of its own
    catch_all: bool = False  # all mail goes to the default destination, and no name is claimable

    def settings(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {name: getattr(self, name) for name in SETTINGS}


SETTINGS = tuple(each.name for each in fields(DomainSettings))
# A change of these can refuse names or send mail elsewhere.
SENSITIVE_SETTINGS = frozenset({"catch_all", "default_destination"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDomain(DomainSettings):
    """A domain of an account."""

    account_id: UUID
    id: UUID
    realm: UUID  # LIVE, or the sandbox account
    domain: str  # A-label
    source: DomainSource
    status: AccountDomainStatus
    proof: DomainProof
    token: str = field(repr=False)
    manifest: str | None = None
    manifest_key: str | None = None
    health: DnsHealth = DnsHealth()
    asked_at: datetime | None = None
    lost_at: datetime | None = None  # since when the proof is missing
    checks: int = 0
    next_check_at: datetime | None = None
    added_at: datetime
    verified_at: datetime | None = None
    suspended_at: datetime | None = None
    released_at: datetime | None = None
    updated_at: datetime
    version: int = 1
    # Of its names; those of the catalog for a domain that is there too, so that each account derives the same key.
    rules: Rules = DEFAULT_RULES
    alias_count: int = 0  # names of the account on it; set for replies

    @property
    def unicode(self) -> str | None:
        """Return the domain in Unicode, if that differs."""
        readable = unicode_of(self.domain)
        return None if readable == self.domain else readable

    @property
    def is_claimable(self) -> bool:
        """Return whether the account can claim names on it, which are free of charge."""
        return self.status is AccountDomainStatus.LIVE and not self.catch_all

    @property
    def is_catch_all(self) -> bool:
        """Return whether its other names forward to the default destination."""
        return self.catch_all and self.status in {AccountDomainStatus.LIVE, AccountDomainStatus.SUSPENDED}

    @property
    def is_sandbox(self) -> bool:
        """Return whether a sandbox account has it, without any DNS query."""
        return self.realm != LIVE

    @property
    def challenge_name(self) -> str:
        """Return the name of the TXT record that proves it."""
        return f"{CHALLENGE_LABEL}.{self.domain}"

    @property
    def challenge_value(self) -> str:
        """Return the value of the TXT record that proves it."""
        return f"{CHALLENGE_PREFIX}{self.token}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange(DomainSettings):
    """The new settings of a domain, to be written only if it still has the version."""

    id: UUID
    version: int
    manifest: str | None
    manifest_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimable:
    """A domain on which the account can claim names."""

    domain: str  # A-label
    source: Literal["account", "catalog"]
    mail_mode: MailMode
    categories: Sequence[str] = ()
    price: Price | None = None  # None: names cost nothing
    rules: Rules
    rank: int = 0  # in the catalog
    remaining: int | None = None  # names that can still be claimed; None: no such limit

    @property
    def unicode(self) -> str | None:
        """Return the domain in Unicode, if that differs."""
        readable = unicode_of(self.domain)
        return None if readable == self.domain else readable

    @property
    def min_local_length(self) -> int:
        """Return the minimum length of the key."""
        return self.rules.min_length

    @property
    def separator_policy(self) -> SeparatorPolicy:
        """Return the separators that its names ignore."""
        return self.rules.separator_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class DkimKey:
    """A key that signs mail of a domain (DKIM)."""

    domain: str  # A-label
    selector: str
    private_key: bytes = field(repr=False)  # sealed
    public_key: str  # base64
    created_at: datetime
    published_at: datetime | None  # since when DNS has its record

    @property
    def name(self) -> str:
        """Return the name of the TXT record."""
        return f"{self.selector}._domainkey.{self.domain}"

    @property
    def value(self) -> str:
        """Return the value of the TXT record."""
        return f"v=DKIM1; k=rsa; p={self.public_key}"

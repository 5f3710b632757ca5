"""What crosses the door of domains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.aliases.records import LIVE, Rules, SeparatorPolicy
from builders.catalog.records import MailMode, Price
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.patches import UNSET, Patch

MAX_DOMAINS = 1000  # domains of one account that are not released
CHALLENGE_LABEL = "_builders-challenge"  # the label in front of the domain where its TXT record is
CHALLENGE_PREFIX = "builders-verification="  # what stands before the token in it
DEFAULT_RULES = Rules()


class DomainSource(StrEnum):
    """How an account came by a domain; all but the first are assigned by the operator."""

    OWNED = "owned"
    LEASED = "leased"
    CONSIGNED = "consigned"
    CATALOG = "catalog"


class AccountDomainStatus(StrEnum):
    """Where an account domain stands."""

    PENDING = "pending"  # waits for its proof
    LIVE = "live"  # names can be had on it
    SUSPENDED = "suspended"  # its proof is gone; still nobody else's
    RELEASED = "released"


class DomainProof(StrEnum):
    """How a domain is known to be the account's."""

    DNS = "dns"  # by the TXT record, asked for again each day
    OPERATOR = "operator"  # who assigned it
    SANDBOX = "sandbox"  # by the word of a test key, since nothing real hangs on it


class RecordHealth(StrEnum):
    """What is to be said of a record that mail needs."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"
    UNCHECKED = "unchecked"  # DNS has not answered yet, or the service does not know what it should be


class RecordKind(StrEnum):
    """The records that mail needs."""

    MX = "mx"
    SPF = "spf"
    DKIM = "dkim"
    DMARC = "dmarc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found of one record."""

    status: RecordHealth = RecordHealth.UNCHECKED
    found: tuple[str, ...] = ()  # the first few, each cut to a bounded length
    next_action: str | None = None  # which record to set; None when there is nothing to do
    checked_at: datetime | None = None  # when DNS last said something


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsHealth:
    """The state of what mail needs."""

    mx: Finding = Finding()
    spf: Finding = Finding()
    dkim: Finding = Finding()
    dmarc: Finding = Finding()

    @property
    def statuses(self) -> Mapping[RecordKind, RecordHealth]:
        """The bare states."""
        return {kind: getattr(self, kind).status for kind in RecordKind}


class ProofSeen(StrEnum):
    """What DNS says of a proof."""

    FOUND = "found"
    MISSING = "missing"  # there is no TXT record
    WRONG = "wrong"  # there is one, but not with the token
    UNKNOWN = "unknown"  # no answer that can be relied on


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofFinding:
    """What was found where the proof should be."""

    seen: ProofSeen
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPatch:
    """A change of a domain by its owner."""

    catch_all: Patch[bool] = UNSET
    default_destination: Patch[str | None] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDomain:
    """A domain of an account."""

    account_id: UUID
    id: UUID
    realm: UUID  # LIVE, or the sandbox twin
    domain: str  # A-label
    source: DomainSource
    status: AccountDomainStatus
    proof: DomainProof
    token: str = field(repr=False)
    catch_all: bool
    default_destination: str | None
    manifest: str | None
    manifest_key: str | None
    health: DnsHealth
    asked_at: datetime | None
    lost_at: datetime | None  # since when the proof is gone
    checks: int
    next_check_at: datetime | None
    added_at: datetime
    verified_at: datetime | None
    suspended_at: datetime | None
    released_at: datetime | None
    updated_at: datetime
    version: int
    # Of names on it: those of the catalog where it has the domain too, so that a name is one name for all.
    rules: Rules = DEFAULT_RULES

    @property
    def unicode(self) -> str | None:
        """The domain as people read it, where that differs."""
        readable = unicode_of(self.domain)
        return None if readable == self.domain else readable

    @property
    def is_claimable(self) -> bool:
        """Whether the account can have names on it; they cost nothing."""
        return self.status is AccountDomainStatus.LIVE and not self.catch_all

    @property
    def is_sandbox(self) -> bool:
        """Whether it is a twin's, and DNS is never asked."""
        return self.realm != LIVE

    @property
    def challenge_name(self) -> str:
        """Where the TXT record of the proof is."""
        return f"{CHALLENGE_LABEL}.{self.domain}"

    @property
    def challenge_value(self) -> str:
        """What the TXT record says."""
        return f"{CHALLENGE_PREFIX}{self.token}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDetails:
    """A domain in a list, with how many names of the account are on it."""

    domain: AccountDomain
    alias_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """A domain after DNS was asked."""

    domain: AccountDomain
    alias_count: int
    proof: ProofFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange:
    """What a domain is to be, if it still has the version."""

    id: UUID
    version: int
    catch_all: bool
    default_destination: str | None
    manifest: str | None
    manifest_key: str | None


class ClaimableSource(StrEnum):
    """Whose domain it is: the account's own, or one of the catalog."""

    ACCOUNT = "account"
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimable:
    """A domain on which the account can claim names."""

    domain: str  # A-label
    source: ClaimableSource
    mail_mode: MailMode
    categories: Sequence[str]
    price: Price | None  # None: names cost nothing
    rules: Rules
    rank: int = 0  # of the catalog
    remaining: int | None = None  # names that can still be claimed; None: no such limit

    @property
    def unicode(self) -> str | None:
        """The domain as people read it, where that differs."""
        readable = unicode_of(self.domain)
        return None if readable == self.domain else readable

    @property
    def min_local_length(self) -> int:
        """Of the key."""
        return self.rules.min_length

    @property
    def separator_policy(self) -> SeparatorPolicy:
        """Which separators of a name do not make another one."""
        return self.rules.separator_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsCheck:
    """What DNS said of a domain."""

    proof: ProofFinding | None  # None where it needs none
    health: DnsHealth

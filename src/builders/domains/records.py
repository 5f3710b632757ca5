"""Records of account domains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import StrictBool, StringConstraints, field_serializer

from builders.aliases.records import LIVE, PriceInterval, Rules, SeparatorPolicy
from builders.catalog.records import MailMode, Price, PriceTier
from builders.kit.limits import maximums
from builders.kit.values import texts
from builders.kit.values.docs import (
    EventManifest,
    EventManifestKey,
    Interval,
    ManifestKey,
    ManifestName,
    SeparatorRule,
    UpdatedAt,
    doc,
)
from builders.kit.values.domain_names import DomainName, unicode_of
from builders.kit.values.money import CurrencyCode, ExactAmount
from builders.kit.values.resources import HIDDEN, Masked, resource
from builders.kit.values.texts import checked
from builders.mail import addresses

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
Mailbox = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=254), checked(texts.canonical_email, "email")
]


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


@resource("DnsFindingReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of the last check of a record that mail needs."""

    status: Annotated[
        RecordHealth, doc("`unchecked`: DNS has not responded yet, or the expected record is unknown.")
    ] = RecordHealth.UNCHECKED
    found: Annotated[tuple[str, ...], doc("The first five values.")] = ()  # each of bounded length
    next_action: Annotated[str | None, doc("The required record.")] = None
    checked_at: Annotated[datetime | None, doc("Time of the last DNS response.")] = None


@resource("DomainDnsReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class DnsHealth:
    """The records that mail needs."""

    mx: Annotated[Finding, doc("Hosts that receive mail for the domain.")] = Finding()
    spf: Annotated[Finding, doc("The servers that may send mail for the domain.")] = Finding()
    dkim: Annotated[Finding, doc("The key that signs mail of the domain.")] = Finding()
    dmarc: Annotated[Finding, doc("Policy for mail that is not authenticated.")] = Finding()

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

    default_destination: Annotated[
        Mailbox | None,
        doc("Default recipient of mail to names without destinations, required with catch_all; null without one."),
        Masked(addresses.mask),
    ] = None
    catch_all: Annotated[
        StrictBool, doc("Whether all mail goes to `default_destination`; if so, names cannot be claimed.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {name: getattr(self, name) for name in SETTINGS}


SETTINGS = tuple(each.name for each in fields(DomainSettings))
# A change of these can refuse names or send mail elsewhere.
SENSITIVE_SETTINGS = frozenset({"catch_all", "default_destination"})


@resource("DomainManagedByReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedBy:
    """The manifest that manages the domain."""

    manifest: ManifestName
    key: ManifestKey


@resource("DomainProofReply", optional={"type": "TXT"})
@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRecord:
    """The proof that the account owns the domain."""

    method: Annotated[DomainProof, doc("`dns`: by the DNS record of this proof, which must remain.")]
    type: Annotated[Literal["TXT"], doc("Type of the DNS record.")] = "TXT"
    name: Annotated[str, doc("Name of the DNS record.")]
    value: Annotated[str, doc("Content of the TXT record to set.")]
    checked_at: Annotated[datetime | None, doc("Time of the last DNS response about the record.")]
    lost_at: Annotated[datetime | None, doc("Since when the record of a live domain is missing; null otherwise.")]


@resource(
    "AccountDomainReply",
    computed={
        "unicode": "The domain in Unicode; null if it is the same.",
        "verification": "Proof of ownership, and the DNS record to set.",
        "claimable": "Whether names can be claimed on it, free of charge.",
        "dns": "Health of the records that mail needs.",
        "managed_by": "The manifest that manages its settings; null without one.",
        "next_action": "The next step, as a sentence; null when there is none.",
        "livemode": "False with a test key.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDomain(DomainSettings):
    """A domain of the account."""

    account_id: Annotated[UUID, HIDDEN]
    id: Annotated[UUID, doc("Identifier of the account domain.")]
    realm: Annotated[UUID, HIDDEN]  # LIVE, or the sandbox account
    domain: DomainName
    source: Annotated[
        DomainSource, doc("How the account obtained the domain; `owned` domains are verified by DNS.")
    ]
    status: Annotated[AccountDomainStatus, doc("Names can be claimed while it is `live`.")]
    proof: Annotated[DomainProof, HIDDEN]
    token: Annotated[str, HIDDEN] = field(repr=False)
    manifest: Annotated[EventManifest, HIDDEN] = None
    manifest_key: Annotated[EventManifestKey, HIDDEN] = None
    health: Annotated[DnsHealth, HIDDEN] = DnsHealth()
    asked_at: Annotated[datetime | None, HIDDEN] = None
    lost_at: Annotated[datetime | None, HIDDEN] = None  # since when the proof is missing
    checks: Annotated[int, HIDDEN] = 0
    next_check_at: Annotated[datetime | None, HIDDEN] = None
    added_at: Annotated[datetime, doc("When it was added to the account.")]
    verified_at: Annotated[datetime | None, doc("When ownership was last proved; null before.")] = None
    suspended_at: Annotated[
        datetime | None, doc("When it was suspended because of the missing proof; null otherwise.")
    ] = None
    released_at: Annotated[datetime | None, doc("When the account released it; null before.")] = None
    updated_at: UpdatedAt
    version: Annotated[int, doc("Increases with every change except changes of `dns`; part of the ETag.")] = 1
    # Those of the catalog for a domain that is there too, so that each account derives the same key.
    rules: Annotated[Rules, doc("Rules for local parts on this domain.")] = DEFAULT_RULES
    alias_count: Annotated[int, doc("Number of the account's names on it.")] = 0  # set for answers

    @property
    def unicode(self) -> str | None:
        """Return the domain in Unicode, if that differs."""
        readable = unicode_of(self.domain)
        return None if readable == self.domain else readable

    @property
    def claimable(self) -> bool:
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

    @property
    def verification(self) -> ProofRecord:
        """Return the proof of ownership."""
        name, value = self.challenge_name, self.challenge_value
        return ProofRecord(
            method=self.proof, name=name, value=value, checked_at=self.asked_at, lost_at=self.lost_at
        )

    @property
    def dns(self) -> DnsHealth:
        """Return the health of the records that mail needs."""
        return self.health

    @property
    def managed_by(self) -> ManagedBy | None:
        """Return the manifest that manages its settings."""
        return None if self.manifest is None else ManagedBy(manifest=self.manifest, key=self.manifest_key or "")

    @property
    def next_action(self) -> str | None:
        """Return the next step, as a sentence."""
        if self.status is AccountDomainStatus.RELEASED:
            return "Add it again: POST /v1/domains."
        if self.status is AccountDomainStatus.LIVE and self.lost_at is None:
            return None
        verify = f"POST /v1/domains/{self.id}/verify"
        if self.is_sandbox:
            return f"{verify}; a sandbox needs no DNS record."
        return f'Set a TXT record at {self.challenge_name} with the value "{self.challenge_value}", then {verify}.'

    @property
    def livemode(self) -> bool:
        """Return whether a live account has it."""
        return not self.is_sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange(DomainSettings):
    """The new settings of a domain, to be written only if it still has the version."""

    id: UUID
    version: int
    manifest: str | None
    manifest_key: str | None


@resource("ClaimablePriceReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimablePrice:
    """The price of a name."""

    amount: ExactAmount
    currency: Annotated[CurrencyCode, doc("ISO 4217.")]
    interval: Annotated[PriceInterval, doc(Interval)]
    tier: Annotated[PriceTier, doc("Price class of the domain.")]


@resource(
    "ClaimableReply",
    computed={
        "unicode": "The domain in Unicode; null if it is the same.",
        "min_local_length": "Minimum length of a local part.",
        "separator_policy": SeparatorRule,
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Claimable:
    """A domain on which the account can claim names."""

    domain: DomainName
    source: Annotated[
        Literal["account", "catalog"], doc("`account` for a domain of your own, `catalog` for one of the vendor.")
    ]
    mail_mode: Annotated[MailMode, doc("Whether names can be mailboxes, aliases, or both.")]
    categories: Annotated[
        Sequence[str], doc("Slugs of its categories, the main one first; empty for a domain of your own.")
    ] = ()
    price: Annotated[Price | None, doc("Price of a name; null: free of charge.")] = None
    rules: Annotated[Rules, doc("Rules for local parts on this domain.")]
    rank: Annotated[int, HIDDEN] = 0  # in the catalog
    remaining: Annotated[int | None, doc("Number of names that can still be claimed; null: no limit.")] = None

    @field_serializer("price")
    def _show_price(self, price: Price | None) -> ClaimablePrice | None:
        if price is None:
            return None
        return ClaimablePrice(**price.money.to_wire(), interval=price.interval, tier=price.tier)

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

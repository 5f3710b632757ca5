"""Records that cross the public interface of aliases."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from pydantic import Field, StrictBool, WithJsonSchema, field_serializer

from builders.aliases.fields import Block, Labels, Note
from builders.kit.values.docs import (
    EventManifest,
    EventManifestKey,
    Livemode,
    ManifestKey,
    ManifestName,
    SeparatorRule,
    UpdatedAt,
    doc,
)
from builders.kit.values.domain_names import DomainName
from builders.kit.values.instants import Instant
from builders.kit.values.money import CurrencyCode, ExactAmount, Money
from builders.kit.values.resources import HIDDEN, OF_CALLER, Masked, resource
from builders.mail import addresses

LIVE = UUID(int=0)  # the realm of live names; a sandbox's realm is its account
FREE = Money.zero("USD")
MAX_LOCAL_PART = 64  # octets, RFC 5321 section 4.5.3.1.1


class Reason(StrEnum):
    """The availability of a name. If several reasons prevent a claim, the first in this order is given."""

    INVALID = "invalid"
    DOMAIN_UNKNOWN = "domain_unknown"
    DOMAIN_NOT_LIVE = "domain_not_live"
    CATCH_ALL = "catch_all"
    RESERVED = "reserved"
    BLOCKED = "blocked"
    TAKEN = "taken"
    QUARANTINED = "quarantined"
    HELD = "held"  # reserved for a claim
    CONFUSABLE = "confusable"
    OK = "ok"


class Detail(StrEnum):
    """The fault of an invalid name."""

    EMPTY = "empty"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    BAD_CHAR = "bad_char"
    BAD_START = "bad_start"
    BAD_END = "bad_end"
    DOUBLE_SEPARATOR = "double_separator"
    PLUS_TAG = "plus_tag"
    NON_ASCII = "non_ascii"


class ReservedClass(StrEnum):
    """The class of a reserved name, the strictest first."""

    HARD = "hard"  # no account can claim it
    VENDOR = "vendor"  # accounts with a grant of the domain's operator can claim it
    PREMIUM = "premium"  # every account can claim it, at another price


class SeparatorPolicy(StrEnum):
    """The separators that a domain ignores when it compares names."""

    IGNORE_DOTS = "ignore_dots"  # jane.doe is janedoe, jane-doe is another
    IGNORE_ALL = "ignore_all"  # jane.doe, jane-doe and jane_doe are janedoe
    DISTINCT = "distinct"  # four names


@resource("DomainRulesReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The bounds of a local part, and the separators that it ignores."""

    # Characters of the key: ignored separators do not count.
    min_length: Annotated[int, Field(serialization_alias="min"), doc("Minimum length of a local part.")] = 1
    max_length: Annotated[int, Field(serialization_alias="max"), doc("Maximum length of a local part.")] = (
        MAX_LOCAL_PART
    )
    separator_policy: Annotated[SeparatorPolicy, doc(SeparatorRule)] = SeparatorPolicy.IGNORE_DOTS

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length <= MAX_LOCAL_PART:
            raise ValueError(f"lengths must be 1 <= min_length <= max_length <= {MAX_LOCAL_PART}: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The result of the rules for a local part. Each text in it is short, printable ASCII, safe to show."""

    reason: Reason
    detail: Detail | None = None  # with `invalid`
    message: str = ""  # the fault, its position and the remedy; empty when ok
    suggestion: str | None = None  # the nearest valid name: `jane` for `jane+shop`
    normalized: str = ""  # lower case, with separators; empty when invalid, as the next two
    key: str = ""  # unique on the domain
    skeleton: str = ""  # equal for names that are confusable
    reserved_class: ReservedClass | None = None  # hard or vendor with `reserved`, premium with `ok` or `blocked`

    @property
    def is_ok(self) -> bool:
        """Return whether the rules allow the name."""
        return self.reason is Reason.OK


class AliasStatus(StrEnum):
    """The status of an alias; only an active one forwards mail."""

    ACTIVE = "active"
    DISABLED = "disabled"  # by its account
    SUSPENDED = "suspended"  # by the operator, or for an unpaid invoice
    DELETED = "deleted"  # by its account, or for an uncollectible invoice


class PriceInterval(StrEnum):
    """The billing period of a name."""

    MONTH = "month"
    YEAR = "year"
    ONCE = "once"


class Name(NamedTuple):
    """The unique form of a name: an A-label and a key."""

    domain: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedName:
    """A name whose availability is checked."""

    domain: str
    key: str
    skeleton: str

    @property
    def name(self) -> Name:
        """Return the unique form."""
        return Name(self.domain, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasName(RequestedName):
    """A name to reserve or to claim, and the id of its alias."""

    alias_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """The reason why a name is not available."""

    reason: Reason  # taken, quarantined, held or confusable
    until: datetime | None = None  # the end of a reservation or a quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSettings:
    """The fields of an alias that its account sets."""

    destinations: Annotated[
        Sequence[str],
        doc("Recipients of forwarded mail; each gets mail after confirming. Masked in events."),
        Masked(addresses.mask),
    ]
    enabled: Annotated[StrictBool, doc("Whether you want mail forwarded; a suspended name forwards none.")]
    note: Annotated[Note | None, doc("Your own note; null without one.")]
    labels: Annotated[Labels, doc("Your own labels.")]
    block: Annotated[
        Block, doc("All senders whose mail is refused: addresses, or domains with their subdomains.")
    ] = field(default_factory=list)
    pause_until: Annotated[
        Instant | None, doc("Mail is not accepted before this time; null or a past time: it is.")
    ] = None
    reply: Annotated[StrictBool, doc("Whether destinations may answer mail with the name as the sender.")] = False

    def settings(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {each.name: getattr(self, each.name) for each in fields(AliasSettings)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasFields(AliasSettings):
    """The settings of an alias, with its manifest and project."""

    manifest: EventManifest
    manifest_key: EventManifestKey
    project_id: Annotated[UUID | None, doc("Project that the alias belongs to; null without one.")] = None

    def fields(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {each.name: getattr(self, each.name) for each in fields(AliasFields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAlias(AliasFields):
    """An alias with its name."""

    id: Annotated[UUID, doc("Identifier of the alias.")]
    domain: DomainName
    local_part: Annotated[str, doc("The part before the `@`, in lower case.")]
    key: str

    @property
    def name(self) -> Name:
        """Return the unique form of the name."""
        return Name(self.domain, self.key)

    @property
    def address(self) -> str:
        """Return `local_part@domain`."""
        return f"{self.local_part}@{self.domain}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSpec(NamedAlias):
    """An alias to create."""

    skeleton: str
    price: Money
    interval: PriceInterval
    continues: bool = False  # the paid period of the released alias with this id
    paid_until: datetime | None = None  # the end of that period; None for a name that is paid once


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasChange(AliasFields):
    """The new fields of an alias, to be written only if it still has this version."""

    id: UUID
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasPrice:
    """The price of a name, and its interval."""

    amount: ExactAmount
    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]
    interval: Annotated[
        PriceInterval,
        WithJsonSchema({"type": "string", "enum": [*PriceInterval]}),  # not a schema of its own
        doc("How often the amount is due: each `month`, each `year`, or `once`."),
    ]


@resource("ManagedBy")
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedBy:
    """The manifest that manages a name, and its key there."""

    manifest: ManifestName
    key: ManifestKey


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasDestination:
    """A destination of a name."""

    email: Annotated[str, doc("Address of the recipient.")]
    verified: Annotated[
        bool, doc("Whether mail is forwarded to the recipient, who has confirmed and is not paused.")
    ]


@resource(
    "AliasReply",
    computed={
        "address": "The whole address, `local_part@domain`.",
        "managed_by": "The manifest that manages the alias; null without one.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Alias(NamedAlias):
    """A name and its destinations."""

    # `enabled`, of which an answer shows whether the owner wants it, is whether mail is forwarded.
    key: Annotated[str, HIDDEN]
    type: Annotated[Literal["alias"], doc("Always `alias`: mail is forwarded. More types can be added.")] = "alias"
    manifest: Annotated[EventManifest, HIDDEN]
    manifest_key: Annotated[EventManifestKey, HIDDEN]
    status: Annotated[
        AliasStatus, doc("`suspended`: until its invoice is paid, or by the operator. `deleted`: released.")
    ]
    version: Annotated[int, doc("Increases with every change; part of the ETag.")]
    claimed_at: Annotated[datetime, doc("When the name was claimed.")]
    price: Annotated[Money, doc("The price at the time of the claim.")] = FREE
    interval: Annotated[PriceInterval, HIDDEN] = PriceInterval.ONCE  # of the price
    renews_at: Annotated[datetime | None, doc("When the next period starts; null for `once`.")] = None
    updated_at: UpdatedAt
    resumes_as: Annotated[AliasStatus | None, HIDDEN] = None  # after a suspension for an unpaid invoice
    verified: Annotated[Sequence[str], HIDDEN] = ()  # the destinations that receive mail, as the owner reads it
    quarantined_until: Annotated[
        datetime | None, doc("End of the quarantine of a released name, during which only you can claim it again.")
    ] = None
    livemode: Annotated[Livemode, OF_CALLER] = True

    @field_serializer("destinations")
    def _show_destinations(self, emails: Sequence[str]) -> list[AliasDestination]:
        return [AliasDestination(email=each, verified=each in self.verified) for each in emails]

    @field_serializer("enabled")
    def _show_enabled(self, _: object) -> bool:
        return self.is_wanted

    @field_serializer("price")
    def _show_price(self, price: Money) -> AliasPrice:
        return AliasPrice(**price.to_wire(), interval=self.interval)

    @field_serializer("renews_at")
    def _show_renewal(self, at: datetime | None) -> datetime | None:
        return None if self.status is AliasStatus.DELETED else at

    @property
    def managed_by(self) -> ManagedBy | None:
        """Return the manifest that manages it."""
        return None if self.manifest is None else ManagedBy(manifest=self.manifest, key=self.manifest_key or "")

    @property
    def receiving(self) -> Sequence[str]:
        """Return the destinations that confirmed, in their order."""
        return [each for each in self.destinations if each in self.verified]

    @property
    def is_blocked(self) -> bool:
        """Return whether the operator suspended it: it cannot be changed or released."""
        return self.status is AliasStatus.SUSPENDED and self.resumes_as is None

    @property
    def is_wanted(self) -> bool:
        """Return whether the owner wants mail forwarded, also while it is suspended."""
        return (self.resumes_as or self.status) is AliasStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasFilters:
    """The conditions of a list; None means no condition. Released aliases are listed only by their status."""

    domain: str | None = None  # A-label
    status: AliasStatus | None = None
    project_id: UUID | None = None
    manifest: str | None = None
    q: str | None = None  # beginning of the address


@resource("DestinationReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A present or former destination of names."""

    email: Annotated[str, doc("Address of the recipient.")]
    verified: Annotated[bool, doc("Whether the recipient agreed to receive mail; false also while it is paused.")]
    verified_at: Annotated[datetime | None, doc("When the recipient last agreed; null before.")]
    paused_at: Annotated[
        datetime | None,
        doc("Since when no mail is forwarded, because it refused mail; null after the recipient confirms again."),
    ]
    asked_at: Annotated[datetime | None, doc("When the last confirmation was requested.")]
    asking_at: Annotated[
        datetime | None,
        doc("Latest time of its confirmation email, if the account has reached its daily limit; otherwise null."),
    ]
    created_at: Annotated[datetime, doc("When it first became the destination of a name.")]


@resource("DestinationResent")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResentDestination(Destination):
    """A destination, and whether another confirmation is sent to it."""

    sent: Annotated[bool, doc("Whether a message is sent; false when the recipient has agreed already.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of an alias, active or released, and the period that its price pays for."""

    id: UUID
    claimed_at: datetime
    period_end: datetime | None  # None for a name that is paid once
    is_released: bool
    is_undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a mail server is told of an address on one of the service's domains."""

    place: int  # of the address in its batch, from 1
    is_shared: bool
    is_claimed: bool | None  # False in quarantine; None: not a name
    account_id: UUID | None  # of the claimed name, or of the catch-all
    alias_id: UUID | None
    reverse_of: str | None  # key of the name of a reverse address
    destinations: Sequence[str] | None  # which confirmed; None: no active name, and no catch-all
    unconfirmed_since: datetime | None  # since when it has the newest destination that did not confirm
    paused_since: datetime | None  # since when the newest destination has to confirm again
    leads_to: str | None  # domain of the destination of the catch-all; None for a name
    paused_at: datetime | None  # since when its account does not accept its mail
    pause_until: datetime | None  # until when
    replies: bool | None  # its owner replies from it
    receives: bool | None  # its mail is an event
    is_refused: bool | None  # its account blocks the sender

"""Records that cross the public interface of aliases."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from builders.kit.values.docs import doc
from builders.kit.values.money import Money

LIVE = UUID(int=0)  # the realm of live names; a sandbox's realm is its account
FREE = Money.zero("USD")
MAX_LABELS = 20
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a domain for its names; raises ValueError for lengths that no name can have."""

    min_length: int = 1  # characters of the key: ignored separators do not count
    max_length: int = MAX_LOCAL_PART
    separator_policy: SeparatorPolicy = SeparatorPolicy.IGNORE_DOTS

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

    destinations: Sequence[str]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    block: Sequence[str] = ()  # senders, normalized, in alphabetic order
    pause_until: datetime | None = None  # mail is not accepted before; None or a past time: it is
    reply: bool = False  # whether destinations may answer mail with the name as the sender

    def settings(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {each.name: getattr(self, each.name) for each in fields(AliasSettings)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasFields(AliasSettings):
    """The settings of an alias, with its manifest and project."""

    manifest: str | None
    manifest_key: str | None
    project_id: UUID | None = None

    def fields(self) -> dict[str, Any]:
        """Return these fields by name, to copy them into another record."""
        return {each.name: getattr(self, each.name) for each in fields(AliasFields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAlias(AliasFields):
    """An alias with its name."""

    id: UUID
    domain: str
    local_part: str
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
class Alias(NamedAlias):
    """A claimed name and its forwarding destinations; `enabled` is whether mail is forwarded."""

    status: AliasStatus
    version: int
    claimed_at: datetime
    price: Money = FREE  # at the time of the claim
    interval: PriceInterval = PriceInterval.ONCE  # of the price
    renews_at: datetime | None = None  # the next renewal; None for `once`
    updated_at: datetime | None = None
    resumes_as: AliasStatus | None = None  # after a suspension for an unpaid invoice: active or disabled
    verified: Collection[str] = ()  # the destinations that receive mail, as the owner reads it
    quarantined_until: datetime | None = None  # of a released one: no other account can claim the name before

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A present or former destination of the account's aliases."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of an alias, active or released, and the period that its price pays for."""

    id: UUID
    claimed_at: datetime
    period_end: datetime | None  # None for a name that is paid once
    is_released: bool
    is_undone: bool = False

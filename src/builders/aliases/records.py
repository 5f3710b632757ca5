"""What crosses the door of aliases."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, Patch

LIVE = UUID(int=0)  # the realm of live names; a sandbox's realm is its account
FREE = Money.zero("USD")
MAX_LABELS = 20
MAX_LOCAL_PART = 64  # octets, RFC 5321 section 4.5.3.1.1


class Reason(StrEnum):
    """Why a name can or cannot be claimed; when several hold, the first in this order is given."""

    INVALID = "invalid"
    DOMAIN_UNKNOWN = "domain_unknown"
    DOMAIN_NOT_LIVE = "domain_not_live"
    CATCH_ALL = "catch_all"
    RESERVED = "reserved"
    BLOCKED = "blocked"
    TAKEN = "taken"
    QUARANTINED = "quarantined"
    HELD = "held"
    CONFUSABLE = "confusable"
    OK = "ok"


class Detail(StrEnum):
    """What is wrong with an invalid name."""

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
    """Who may have a reserved name, the strictest first."""

    HARD = "hard"  # nobody
    VENDOR = "vendor"  # whom the operator of the domain grants it to
    PREMIUM = "premium"  # everyone, at another price


class SeparatorPolicy(StrEnum):
    """Which separators of a name a domain does not tell apart."""

    IGNORE_DOTS = "ignore_dots"  # jane.doe is janedoe, jane-doe is another
    IGNORE_ALL = "ignore_all"  # jane.doe, jane-doe and jane_doe are janedoe
    DISTINCT = "distinct"  # four names


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A domain's own rules; raises ValueError on lengths that fit no name.

    Lengths in characters, `min_length` of the key: were ignored dots counted, `a.b` would pass a minimum of 3.
    """

    min_length: int = 1
    max_length: int = MAX_LOCAL_PART
    separator_policy: SeparatorPolicy = SeparatorPolicy.IGNORE_DOTS

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length <= MAX_LOCAL_PART:
            raise ValueError(f"lengths must be 1 <= min_length <= max_length <= {MAX_LOCAL_PART}: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the rules alone say about a name. Safe to show: each text in it is short, ASCII and printable."""

    reason: Reason
    detail: Detail | None = None  # with `invalid`
    message: str = ""  # what is wrong, where, what to do next; empty when ok
    suggestion: str | None = None  # the nearest name that the rules accept: for `jane+shop` it is `jane`
    normalized: str = ""  # as delivered, in lower case with its separators; empty when invalid, like the next two
    key: str = ""  # names with the same key on a domain are one name
    skeleton: str = ""  # names with the same skeleton look alike
    reserved_class: ReservedClass | None = None  # hard or vendor with `reserved`, premium with `ok` or `blocked`

    @property
    def is_ok(self) -> bool:
        """Whether the rules have nothing against the name."""
        return self.reason is Reason.OK


class AliasStatus(StrEnum):
    """Whether an alias forwards mail, or why it does not."""

    ACTIVE = "active"
    DISABLED = "disabled"  # by its account
    SUSPENDED = "suspended"  # by the operator, or for an unpaid invoice
    DELETED = "deleted"  # released


class PriceInterval(StrEnum):
    """How often a name is paid for."""

    MONTH = "month"
    YEAR = "year"
    ONCE = "once"


class NameState(StrEnum):
    """How a name is held."""

    HELD = "held"
    CLAIMED = "claimed"
    QUARANTINED = "quarantined"


class Name(NamedTuple):
    """A name where it is unique: an A-label and a key."""

    domain: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A name to look up or to take."""

    domain: str
    key: str
    skeleton: str
    alias_id: UUID | None = None  # the alias it is to be of; None where it is only looked up

    @property
    def name(self) -> Name:
        """Where it is unique."""
        return Name(self.domain, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Why the registry does not have a name to give."""

    reason: Reason  # taken, quarantined, held or confusable
    until: datetime | None = None  # when a hold or a quarantine ends


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasFields:
    """The fields of an alias that its account sets, but for whether mail is forwarded."""

    destinations: Sequence[str]
    note: str | None
    labels: Mapping[str, str]
    manifest: str | None
    manifest_key: str | None
    project_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAlias(AliasFields):
    """An alias with its name."""

    id: UUID
    domain: str
    local_part: str
    key: str

    @property
    def name(self) -> Name:
        """Where it is unique."""
        return Name(self.domain, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSpec(NamedAlias):
    """A name to claim, with all that it is to be."""

    skeleton: str
    enabled: bool
    price: Money
    interval: PriceInterval
    continues: bool = False  # the paid period of the released alias with this id
    paid_until: datetime | None = None  # the end of that period; None for what is paid once


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasChange(AliasFields):
    """What an alias is to be, if it still has the version."""

    id: UUID
    version: int
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias(NamedAlias):
    """A claimed name and where it forwards to."""

    status: AliasStatus
    version: int
    claimed_at: datetime
    price: Money = FREE  # as it was when claimed
    interval: PriceInterval = PriceInterval.ONCE  # of the price
    renews_at: datetime | None = None  # when it is paid for anew; None for `once`
    updated_at: datetime | None = None
    is_blocked: bool = False  # suspended by the operator, not for an invoice: it is neither changed nor released

    @property
    def address(self) -> str:
        """`local_part@domain`."""
        return f"{self.local_part}@{self.domain}"

    @property
    def enabled(self) -> bool:
        """Whether mail is forwarded."""
        return self.status is AliasStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An alias as its owner sees it; a released one too."""

    alias: Alias
    resumes_as: AliasStatus | None  # what a suspended one is again: active or disabled
    verified: Collection[str]  # those of its destinations whose readers agreed
    quarantined_until: datetime | None  # of a released one: until then nobody else can have the name

    @property
    def enabled(self) -> bool:
        """Whether its owner wants mail forwarded."""
        return (self.resumes_as or self.alias.status) is AliasStatus.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which aliases a list shows; None is no condition, but released ones are shown only by their status."""

    domain: str | None = None  # A-label
    status: AliasStatus | None = None
    project_id: UUID | None = None
    manifest: str | None = None
    q: str | None = None  # how the address begins


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasPatch:
    """A change of an alias by its owner."""

    destinations: Patch[Sequence[str]] = UNSET
    enabled: Patch[bool] = UNSET
    note: Patch[str | None] = UNSET
    labels: Patch[Mapping[str, str | None] | None] = UNSET  # merged into those there; None within removes one


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """An address that names forward to, or did."""

    email: str
    verified_at: datetime | None
    asking_at: datetime | None  # when its turn comes, where the account has asked as many as it may in a day
    asked_at: datetime | None  # when its reader was to be mailed last
    created_at: datetime

    @property
    def verified(self) -> bool:
        """Whether its reader has agreed."""
        return self.verified_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """That a link was followed."""

    email_masked: str
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a mail server knows of a name; without destinations it forgets it."""

    account_id: UUID
    id: UUID
    domain: str
    key: str  # what the domain makes of every spelling of the name
    local_part: str  # as it was claimed
    destinations: Sequence[str]
    changed_in: str = "0"  # where a list of changes goes on, with the next
    serial: int = 0

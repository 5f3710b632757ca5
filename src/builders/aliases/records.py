"""What crosses the door of aliases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from builders.kit.money import Money

LIVE = UUID(int=0)  # the realm of live names; a sandbox's realm is its account


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

    Lengths in characters. The least one is of the key: were ignored dots counted, `a.b` would slip past a
    minimum of 3.
    """

    min_length: int = 1
    max_length: int = MAX_LOCAL_PART
    separator_policy: SeparatorPolicy = SeparatorPolicy.IGNORE_DOTS

    def __post_init__(self) -> None:
        if not 1 <= self.min_length <= self.max_length <= MAX_LOCAL_PART:
            raise ValueError(f"lengths must be 1 <= min_length <= max_length <= {MAX_LOCAL_PART}: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the rules alone say about a name: `ok`, `invalid`, `reserved` or `blocked`.

    Safe to show: whatever the input was, each text in it is short, ASCII and printable.
    """

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
class Found:
    """A wanted name that somebody has, or has a look-alike of."""

    domain: str
    key: str
    state: NameState | None
    until: datetime | None
    account_id: UUID | None
    look_account_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """An alias that was just given up, as it was."""

    id: UUID
    domain: str
    local_part: str
    manifest: str | None
    manifest_key: str | None
    destinations: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSpec:
    """A name to claim, with all that it is to be."""

    id: UUID
    domain: str
    local_part: str
    key: str
    skeleton: str
    destinations: Sequence[str]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    manifest: str | None
    manifest_key: str | None
    price: Money
    interval: str  # month, year or once

    @property
    def name(self) -> Name:
        """Where it is unique."""
        return Name(self.domain, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasChange:
    """What an alias is to be, if it still has the version."""

    id: UUID
    version: int
    destinations: Sequence[str]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    manifest: str | None
    manifest_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A claimed name and where it forwards to."""

    id: UUID
    domain: str
    local_part: str
    key: str
    manifest: str | None
    manifest_key: str | None
    status: str
    note: str | None
    labels: Mapping[str, str]
    destinations: Sequence[str]
    version: int
    claimed_at: datetime

    @property
    def address(self) -> str:
        """`local_part@domain`."""
        return f"{self.local_part}@{self.domain}"

    @property
    def name(self) -> Name:
        """Where it is unique."""
        return Name(self.domain, self.key)

    @property
    def enabled(self) -> bool:
        """Whether mail is forwarded."""
        return self.status == "active"

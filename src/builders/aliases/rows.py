"""What the files of this package hand each other; what crosses its interface is named in `service`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from builders.aliases.records import Alias, NameState, PriceInterval
from builders.kit.values.money import Money


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
class Ahead:
    """An alias that mail is sent on to."""

    alias: Alias
    is_own: bool  # of the account that asks


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A destination whose reader is to be asked when it is its turn among those of the account."""

    account_id: UUID
    email: str
    is_named: bool  # a name forwards there


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A destination whose reader is to be asked."""

    account_id: UUID
    email: str
    mailbox: str  # that mail to it ends up in, as far as one can tell (see `store.destinations`)
    bounced: bool  # mail came back from it lately
    message_id: UUID | None  # of the mail before
    alias: str | None  # an address that forwards there; None when none does any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A mail to a reader that was written."""

    due: Due
    message_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What a mailed link stands for."""

    account_id: UUID
    email: str
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewing:
    """A name that is to be paid for anew."""

    id: UUID
    address: str
    price: Money
    interval: PriceInterval  # month or year
    claimed_at: datetime
    renews_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """An alias that was just given up, suspended or restored, as it is told."""

    id: UUID
    domain: str
    local_part: str
    manifest: str | None
    manifest_key: str | None
    destinations: Sequence[str]
    project_id: UUID | None = None
    enabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedName:
    """A released alias whose price was charged."""

    id: UUID
    domain: str
    key: str
    price: Money
    interval: PriceInterval
    claimed_at: datetime
    renews_at: datetime | None  # None for what is paid once


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """When a name was claimed, and until when the price of the claim pays for it, also of a released one."""

    id: UUID
    claimed_at: datetime
    period_end: datetime | None  # None for what is paid once
    is_undone: bool

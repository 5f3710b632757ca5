"""Records of erasures, and their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from builders.kit.values.docs import doc
from builders.kit.values.resources import resource

WAIT = timedelta(days=14)
REMIND_AFTER, REMIND_BEFORE = timedelta(days=7), timedelta(days=1)
KNOWN_FOR = timedelta(days=30)  # how long a former address gets the emails
UNCONFIRMED_FOR = timedelta(hours=24)
LIST = "erasures.txt"  # in the data folder: the id of an account and a time in each line, no address
LAST_EMAIL = 3  # at once, after REMIND_AFTER, REMIND_BEFORE the end


class ErasureState(StrEnum):
    """How far an erasure is."""

    NONE = "none"
    UNCONFIRMED = "unconfirmed"
    WAITING = "waiting"  # until `due_at`


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRequest:
    """An erasure that a person wants."""

    account_id: UUID
    id: UUID
    confirmed_by: Sequence[UUID]  # accounts of people
    requested_at: datetime
    due_at: datetime | None  # None: not confirmed
    emails: int
    next_at: datetime | None


@resource("AccountErasureReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The erasure of the account."""

    state: Annotated[ErasureState, doc("How far it is.")]
    requested_at: Annotated[datetime | None, doc("When it was requested.")]
    due_at: Annotated[datetime | None, doc("When it happens.")]
    missing: Annotated[int, doc("Deciders who still have to confirm it.")]
    unsettled: Annotated[Sequence[str], doc("What is settled before.")]

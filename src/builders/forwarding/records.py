"""Records of forwarding."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource


class State(StrEnum):
    """Whether mail to an address is accepted."""

    FOREIGN = "foreign"  # its domain is not one of this service
    DELIVERABLE = "deliverable"
    DELAYED = "delayed"  # its recipients have not confirmed yet, or have to confirm again, or it is paused
    UNKNOWN = "unknown"  # no name, or one that receives no mail: no sender learns which


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """The result of the look-up of an address."""

    state: State
    destinations: Sequence[str] = ()  # if it is deliverable
    is_shared: bool = False  # on a domain of the catalog, for which only the service sends mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address as it is looked up."""

    domain: str  # A-label
    name: str  # normalized, without a tag; empty if no name can be written so
    is_exact: bool = False  # no separator is ignored: a reverse address, or a key


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The recipient and the sender of the envelope of a message."""

    recipient: Address
    entries: Sequence[str] = ()  # of a list of blocked senders, each of which blocks the sender


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEntry:
    """A name in the map of a mail server; one without destinations is removed from the map."""

    account_id: UUID
    id: UUID
    domain: str
    key: str  # equal for all spellings of the name
    local_part: str  # as claimed
    destinations: Sequence[str]
    changed_in: str = "0"  # where the next list of changes starts, with `serial`
    serial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Correspondent:
    """Someone to whom an owner replies from a name, by a reverse address."""

    account_id: UUID
    id: UUID
    alias_id: UUID
    name: str  # local part of the reverse address
    address: bytes  # sealed
    created_at: datetime
    used_at: datetime


@resource("CorrespondentReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCorrespondent:
    """Someone to whom the owner of a name writes from it."""

    id: Annotated[UUID, doc("Identifier of the correspondent.")]
    email: Annotated[str, doc("Address of the correspondent.")]
    reverse_address: Annotated[
        str,
        doc(
            "What a confirmed destination of the name sends here goes to the correspondent, as from the name. "
            "Mail of others is refused."
        ),
    ]
    created_at: Annotated[datetime, doc("When the first message came, or the correspondent was added.")]
    used_at: Annotated[datetime, doc("Time of the newest message. 90 days later the correspondent is deleted.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRoute(Correspondent):
    """A correspondent, and the name that replies."""

    domain: str  # A-label
    local_part: str
    destinations: Sequence[str]  # whose owners may reply


@resource("ReceptionReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """The rule of a name whose mail is received as events."""

    webhook_id: Annotated[UUID, doc("The webhook that gets the event `alias.mail_received`; no other one does.")]
    key_id: Annotated[UUID, doc("The API key that reads the content; no other one does. It gets `mail:read`.")]
    created_at: Annotated[datetime, doc("When a person set the rule.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message that a name received."""

    id: Annotated[UUID, doc("Identifier of the message.")]
    alias_id: Annotated[UUID, doc("The name that received it.")]
    size: Annotated[int, doc("Bytes of the message.")]
    spf: Annotated[str, doc("Result of SPF: `pass`, `fail`, `softfail`, `neutral`, `temperror`, `none`, …")]
    dkim: Annotated[str, doc("Result of DKIM: `pass`, `fail`, `none`, …")]
    dmarc: Annotated[str, doc("Result of DMARC: `pass`, `fail` or `none`.")]
    is_kept: bool  # its content is stored
    received_at: Annotated[datetime, doc("When it was received.")]
    expires_at: Annotated[datetime, doc("When its content is deleted.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The whole message, or an attachment; sealed."""

    name: bytes
    content: bytes


class Outcome(StrEnum):
    """What happened to a message at a destination."""

    FORWARDED = "forwarded"  # the server of the destination accepted it
    DEFERRED = "deferred"  # it is tried again
    BOUNCED = "bounced"  # it is not delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a log is read."""

    offset: int
    digest: bytes  # of the bytes before it


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRecipient:
    """Whose mail an address receives."""

    account_id: UUID
    alias_id: UUID | None  # None: a catch-all


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedMail:
    """A message that the mail filter returned, and whose mail it was."""

    queue_id: str
    account_id: UUID | None
    alias_id: UUID | None
    is_known: bool  # whose it was, also if it was nobody's


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounces:
    """Messages to a destination that did not exist for its server."""

    account_id: UUID
    email: str  # in lower case
    queue_ids: Sequence[str]  # of the last messages
    first_on: date
    last_on: date


@resource("MailResultReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class MailResult:
    """What happened to a message to a name at one of its destinations."""

    id: Annotated[UUID, HIDDEN]
    queue_id: Annotated[str, doc("Identifier of the message in the log of the mail server.")]
    destination: Annotated[str, doc("Address of the recipient.")]
    outcome: Annotated[
        Literal["forwarded", "deferred", "bounced"],
        doc("`forwarded`: accepted by the recipient's server. `deferred`: tried again. `bounced`: not delivered."),
    ]
    code: Annotated[str, doc("Status code of RFC 3463, such as `2.0.0` or `5.1.1`.")]
    created_at: Annotated[datetime, doc("Time of the first result of the message.")]
    at: Annotated[datetime, doc("Time of this result.")]


@resource("MailDayReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class MailDay:
    """The mail of a name on a day. Each destination of a message counts."""

    day: Annotated[date, doc("Day in UTC.")]
    forwarded: Annotated[int, doc("Accepted by the server of the recipient.")]
    deferred: Annotated[int, doc("Not accepted at once, and tried again.")]
    bounced: Annotated[int, doc("Not delivered.")]
    refused: Annotated[int, doc("Refused while the sender was connected.")]
    last_at: Annotated[datetime, doc("Time of the last of these.")]

# Written by script/clients.
"""What callers send: aliases."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from builders_client.values import TimeLike


class AliasUpdate(TypedDict):
    """A merge patch of an alias (RFC 7396): an absent member does not change, null clears. At least one member.
    Unknown members that resemble known ones are refused.
    """

    destinations: NotRequired[Sequence[str]]
    """All destinations. The recipient of a destination that is new to the account must confirm first."""
    labels: NotRequired[Mapping[str, str | None] | None]
    """Merged with the present labels. Null removes a label, or all labels."""
    enabled: NotRequired[bool]
    """Whether you want mail forwarded; a suspended name forwards none."""
    note: NotRequired[str | None]
    """Your own note; null without one."""
    block: NotRequired[Sequence[str] | None]
    """All senders whose mail is refused: addresses, or domains with their subdomains."""
    pause_until: NotRequired[TimeLike | None]
    """Mail is not accepted before this time; null or a past time: it is."""
    reply: NotRequired[bool]
    """Whether destinations may answer mail with the name as the sender."""


class AnswerCreate(TypedDict):
    """An answer to the author of a message: `text` or `html`. Unknown members are refused."""

    text: NotRequired[str | None]
    """Plain text of the answer."""
    html: NotRequired[str | None]
    """HTML. It keeps no picture, form, style or script, and each link shows its host."""


class CorrespondentCreate(TypedDict):
    """Someone to write to from a name."""

    email: str
    """Address of the correspondent."""


class DestinationResend(TypedDict):
    """The destination that gets another confirmation."""

    email: str
    """A destination of one of your names."""


class ReceptionUpdate(TypedDict):
    """Who gets the mail to a name. Unknown members are refused."""

    webhook_id: str
    """The webhook that gets the event `alias.mail_received`; no other one does."""
    key_id: str
    """The API key or connection that reads the content; no other one does. It gets `mail:read`."""
    may_reply: NotRequired[bool]
    """Whether this key or connection answers the messages; `reply` of the name must be on, too."""

"""Fields of an alias in a request: their bounds and rules, for its own operations and for manifests."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from builders.aliases.senders import MAX_SENDER, normalize_sender
from builders.kit.values import texts
from builders.kit.values.texts import checked
from builders.mail.addresses import Mailbox

MAX_BLOCKED = 100  # senders
MAX_DESTINATIONS = 10
MAX_LABELS = 20


def _unique(senders: Sequence[str]) -> Sequence[str]:
    """Return the senders in alphabetic order, since their order has no meaning."""
    return sorted({*senders})


def _distinct(emails: Sequence[str]) -> Sequence[str]:
    """Return the addresses; of those that differ in upper and lower case, the last one."""
    return list({email.lower(): email for email in emails}.values())


Destinations = Annotated[
    list[Mailbox], Field(min_length=1, max_length=MAX_DESTINATIONS), AfterValidator(_distinct)
]
Note = Annotated[str, Field(max_length=200), texts.OneLine]
LabelName = Annotated[str, Field(max_length=40), texts.OneLine]
LabelValue = Annotated[str, Field(max_length=500), texts.OneLine]
Labels = Annotated[dict[LabelName, LabelValue], Field(max_length=MAX_LABELS)]
Sender = Annotated[str, Field(min_length=1, max_length=MAX_SENDER), checked(normalize_sender, "sender")]
Block = Annotated[
    list[Sender],
    Field(max_length=MAX_BLOCKED),
    AfterValidator(_unique),
]

"""Fields of an alias in a request: their bounds and rules, for its own operations and for manifests."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from builders.aliases.senders import MAX_SENDER, normalize_sender
from builders.kit.values.texts import checked

MAX_BLOCKED = 100  # senders


def _unique(senders: Sequence[str]) -> Sequence[str]:
    """Return the senders in alphabetic order, since their order has no meaning."""
    return sorted({*senders})


Sender = Annotated[str, Field(min_length=1, max_length=MAX_SENDER), checked(normalize_sender, "sender")]
Block = Annotated[
    list[Sender],
    Field(max_length=MAX_BLOCKED),
    AfterValidator(_unique),
]

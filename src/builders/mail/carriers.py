"""What a carrier is given and what it answers; there is one for SMTP and one for a folder."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from builders.mail.records import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A message, ready to be handed over."""

    id: UUID
    letter: str
    created_at: datetime
    sender: str  # of the envelope, as the recipient
    recipient: str
    content: bytes = field(repr=False)

    @property
    def needs_utf8(self) -> bool:
        """Whether a server must know internationalised mail (RFC 6531) to take it."""
        return not self.recipient.isascii()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended: sent, bounced, or deferred."""

    status: Status
    code: int | None = None  # of the server's reply
    text: str = ""
    is_our_fault: bool = False  # nobody's address is bad: it is our own set-up that must be looked at


class Carrier(Protocol):
    """Takes messages away."""

    async def carry(self, parcel: Parcel) -> Outcome:
        """One attempt."""

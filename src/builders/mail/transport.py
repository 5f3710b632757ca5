"""Transports of messages: the interface, and the development outbox, which writes files."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

from builders.mail.records import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A rendered message and its envelope."""

    id: UUID
    template: str
    created_at: datetime
    sender: str
    recipient: str
    content: bytes = field(repr=False)

    @property
    def needs_utf8(self) -> bool:
        """Return whether the server must support internationalized mail (RFC 6531)."""
        return not self.recipient.isascii()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an attempt: sent, bounced, or deferred."""

    status: Status
    code: int | None = None  # of the server's reply
    text: str = ""
    is_local_error: bool = False  # the configuration is wrong, not the recipient's address


class Transport(Protocol):
    """Sends messages."""

    async def send(self, message: OutgoingMessage) -> Outcome:
        """Make one attempt."""


class FolderTransport:
    """The development outbox: `.eml` files, readable by the owner alone, whose names sort by time."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "outbox"

    async def send(self, message: OutgoingMessage) -> Outcome:
        """Write the message; a repeated attempt overwrites its file."""
        await asyncio.to_thread(self._write, message)
        return Outcome(status=Status.SENT)

    def list_files(self) -> Sequence[Path]:
        """Return the messages, oldest first."""
        return sorted(self.path.glob("*.eml"))

    def _write(self, message: OutgoingMessage) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The id sorts messages within a second.
        name = f"{message.created_at:%Y%m%dT%H%M%SZ}-{message.id.hex}-{message.template}.eml"
        descriptor, draft = tempfile.mkstemp(dir=self.path, prefix=".")  # with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(message.content)
            Path(draft).replace(self.path / name)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

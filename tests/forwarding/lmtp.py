"""A mail server's side of the mail filter: it hands mail over, and takes it back."""

import asyncio
import smtplib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiosmtpd.smtp import SMTP, Envelope, Session

from builders.forwarding.filter_server import MAX_LINES, Handler
from builders.forwarding.mail_filter import MailFilter
from builders.forwarding.mail_server import QUEUE_BYTES
from builders.forwarding.messages import Own

HOST, NOWHERE = "mx1.builders.example", ("127.0.0.1", 1)
OWN_DOMAIN = "builders.example"  # of the mail that the service sends
OWN = Own(domain=OWN_DOMAIN, url="https://console.builders.example")
SRS = "SRS0=AAAAAAAA=AA=author.example=ada@mx1.builders.example"


@dataclass(slots=True)
class Queue:
    """The mail server's listener for messages that return from the filter."""

    reply: str = "250 2.0.0 Ok: queued as 4XYZ"
    mail: list[tuple[str, list[str], bytes]] = field(default_factory=list)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 # the name is aiosmtpd's
        del server, session
        if self.reply.startswith("250"):
            self.mail.append((envelope.mail_from or "", envelope.rcpt_tos, envelope.original_content or b""))
        return self.reply

    def protocol(self) -> SMTP:
        """Return the protocol of a connection."""
        return SMTP(self, data_size_limit=QUEUE_BYTES, enable_SMTPUTF8=True, hostname=HOST)


class HandOver:
    """Hands messages over, as Postfix does."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __call__(self, content: bytes, to: str, *, sender: str = SRS) -> tuple[int, str]:
        """Return the result of the recipient."""
        return (await self.all([content], to, sender=sender))[0]

    async def all(self, contents: Sequence[bytes], to: str, *, sender: str = SRS) -> Sequence[tuple[int, str]]:
        """Return the result of each message on one connection."""
        return await asyncio.to_thread(self._send, contents, to, sender)

    def _send(self, contents: Sequence[bytes], to: str, sender: str) -> Sequence[tuple[int, str]]:
        replies = []
        with smtplib.LMTP("127.0.0.1", self._port) as client:
            client.ehlo_or_helo_if_needed()
            for content in contents:
                client.mail(sender)
                client.rcpt(to)
                code, text = client.data(content)
                replies.append((code, text.decode()))
        return replies


@asynccontextmanager
async def filtering(mail_filter: MailFilter, *, max_lines: int = MAX_LINES) -> AsyncIterator[HandOver]:
    """Run a filter."""
    handler = Handler(mail_filter, max_lines=max_lines)
    server = await asyncio.get_running_loop().create_server(handler.protocol, "127.0.0.1", 0)
    yield HandOver(server.sockets[0].getsockname()[1])
    server.close()

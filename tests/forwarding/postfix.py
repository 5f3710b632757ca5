"""A mail server's side of the look-ups."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from builders.forwarding.server import netstring, read_request


class MailServer:
    """Asks the look-up server on one connection, as a process of Postfix does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = asyncio.StreamReader()
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        """Connect."""
        self.reader, self.writer = await asyncio.open_unix_connection(str(self.path))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        self.writer.transport.abort()

    async def reply(self) -> str:
        """Return the next reply."""
        return (await read_request(self.reader)).decode()

    async def ask(self, name: str, key: str) -> str:
        """Return the reply of a map."""
        self.writer.write(netstring(f"{name} {key}"))
        return await self.reply()

    async def decide(self, **attributes: str) -> str:
        """Return the action of the policy service for attributes of a recipient."""
        lines = {"request": "smtpd_access_policy", "protocol_state": "RCPT", **attributes}
        self.writer.write("".join(f"{name}={value}\n" for name, value in lines.items()).encode() + b"\n")
        reply = (await self.reader.readuntil(b"\n\n")).decode()
        return reply.removeprefix("action=").removesuffix("\n\n")

    async def ends(self, sent: bytes) -> bool:
        """Return whether the server ends the connection after these bytes, without a reply."""
        self.writer.write(sent)
        try:
            return await self.reader.read() == b""
        except ConnectionError:  # it has not read all
            return True

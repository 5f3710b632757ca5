"""A name server on loopback, over UDP and TCP, with configurable faults."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import cast

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

TTL = 60


class Fault(StrEnum):
    """A fault of the server for a name."""

    SERVFAIL = "servfail"
    REFUSED = "refused"
    SILENT = "silent"  # no response
    GARBAGE = "garbage"  # bytes that are not a message
    STRANGER = "stranger"  # a response to another query
    TRUNCATED = "truncated"  # also by TCP


class Nameserver(asyncio.DatagramProtocol):
    """Answers from its zone; a name that has no record of any kind is NXDOMAIN."""

    def __init__(self) -> None:
        self.zone: dict[tuple[str, str], list[str]] = {}
        self.faults: dict[str, Fault] = {}
        self.asked: list[tuple[str, str, bool]] = []  # name, type, by TCP
        self.address = ""
        self._udp: asyncio.DatagramTransport | None = None

    def txt(self, name: str, *values: str) -> None:
        """Replace the TXT records at a name; a value longer than 255 is several strings."""
        self.zone[name, "TXT"] = [
            " ".join(f'"{each[at : at + 255]}"' for at in range(0, max(len(each), 1), 255)) for each in values
        ]

    def mx(self, name: str, *values: str) -> None:
        """Replace the MX records of a domain: `10 mx1.builders.example.`."""
        self.zone[name, "MX"] = list(values)

    def cname(self, name: str, target: str) -> None:
        """Make a name an alias of another one."""
        self.zone[name, "CNAME"] = [f"{target}."]

    def clear(self) -> None:
        """Delete all records and faults."""
        self.zone.clear()
        self.faults.clear()
        self.asked.clear()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._udp = cast("asyncio.DatagramTransport", transport)  # asyncio declares only the base class

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._answer(data, by_tcp=False)
        if answer is not None and self._udp is not None:
            self._udp.sendto(answer, addr)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one query over TCP."""
        try:
            [length] = struct.unpack("!H", await reader.readexactly(2))
            answer = self._answer(await reader.readexactly(length), by_tcp=True)
            if answer is not None:
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, data: bytes, *, by_tcp: bool) -> bytes | None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind, by_tcp))
        fault = self.faults.get(name)
        if fault is Fault.SILENT:
            return None
        if fault is Fault.GARBAGE:
            return data[:2] + b"\xff" * 40
        response = dns.message.make_response(query)
        if fault in {Fault.SERVFAIL, Fault.REFUSED}:
            response.set_rcode(dns.rcode.from_text(fault))
            return response.to_wire()
        if fault is Fault.STRANGER:
            other = dns.message.make_query("stranger.example.", "TXT", id=query.id)
            response = dns.message.make_response(other)
            response.answer.append(dns.rrset.from_text("stranger.example.", TTL, "IN", "TXT", '"hello"'))
            return response.to_wire()
        self._fill(response, question.name, name, kind)
        if fault is Fault.TRUNCATED:
            response.flags |= dns.flags.TC
            response.answer.clear()
        if by_tcp:
            return response.to_wire(max_size=65_535)
        wire = response.to_wire(max_size=65_535)
        if len(wire) > max(query.payload, 512):
            response.answer.clear()
            response.flags |= dns.flags.TC
            wire = response.to_wire()
        return wire

    def _fill(self, response: dns.message.Message, asked: dns.name.Name, name: str, kind: str) -> None:
        is_there = any(each == name for each, _ in self.zone)
        for _ in range(40):  # also ends a loop of aliases
            target = self.zone.get((name, "CNAME"))
            if target is None or kind == "CNAME":
                break
            response.answer.append(dns.rrset.from_text(asked, TTL, "IN", "CNAME", *target))
            asked = dns.name.from_text(target[0])
            name = target[0].removesuffix(".")
        values = self.zone.get((name, kind))
        if values:
            response.answer.append(dns.rrset.from_text(asked, TTL, "IN", kind, *values))
        elif not is_there:
            response.set_rcode(dns.rcode.NXDOMAIN)


@asynccontextmanager
async def serving() -> AsyncIterator[Nameserver]:
    """Run a name server on a free port."""
    server = Nameserver()
    loop = asyncio.get_running_loop()
    tcp = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = tcp.sockets[0].getsockname()[1]
    udp, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", port))
    server.address = f"127.0.0.1:{port}"
    try:
        yield server
    finally:
        udp.close()
        tcp.close()
        await tcp.wait_closed()

"""Messages and their heads."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import dkim  # type: ignore[import-untyped] # it has no types

from tests.domains.nameserver import Nameserver


def message(body: str = "Good morning.\r\n", **headers: str) -> bytes:
    """Return a message with these headers, as given."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{head}\r\n{body}".encode()


def head_of(content: bytes) -> EmailMessage:
    """Return the message, whose headers are read by name."""
    return message_from_bytes(content, policy=default)


def is_signed(content: bytes, domain: str, dns: Nameserver) -> bool:
    """Return whether the domain's key signed the message."""

    def txt(name: bytes, timeout: int = 5) -> bytes | None:
        del timeout
        found = dns.zone.get((name.decode().rstrip("."), "TXT"))
        return None if found is None else "".join(found[0].strip('"').split('" "')).encode()

    return f"d={domain};".encode() in content and bool(dkim.verify(content, dnsfunc=txt))

"""Messages and their heads."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default


def message(body: str = "Good morning.\r\n", **headers: str) -> bytes:
    """Return a message with these headers, as given."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{head}\r\n{body}".encode()


def head_of(content: bytes) -> EmailMessage:
    """Return the message, whose headers are read by name."""
    return message_from_bytes(content, policy=default)

"""The mail server that takes our mail, as `BUILDERS_SMTP_URL` names it."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

SUBMISSION, SUBMISSIONS = 587, 465  # RFC 6409; RFC 8314, 3.3
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")


class StartTls(StrEnum):
    """Whether a connection that begins in the clear goes on encrypted."""

    REQUIRED = "required"
    OPTIONAL = "optional"  # when the server offers it
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where mail is handed over, and how."""

    host: str
    port: int
    tls: Literal["implicit"] | StartTls
    user: str | None = None
    password: str = field(default="", repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether what is said to it never leaves the machine."""
        return _is_loopback(self.host)


def parse(url: str) -> Server:
    """The server of an address `smtp://` or `smtps://`.

    Without `starttls` in it, encryption is required, but to the machine itself, where it is not asked for.
    Raises ValueError, whose words leave the password out.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(
            "it is not an address: the port is no number, or the host in brackets is no IPv6"
        ) from None
    if parts.scheme not in {"smtp", "smtps"} or not host or parts.path not in {"", "/"} or parts.fragment:
        raise ValueError(
            "write smtp://USER:PASSWORD@HOST:PORT, or smtps://…; escape / @ : # in a password as %2F …"
        )
    tls = _tls(parts, host)
    return Server(
        host=host,
        port=port or (SUBMISSIONS if tls == "implicit" else SUBMISSION),
        tls=tls,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password or ""),
    )


def _tls(parts: SplitResult, host: str) -> Literal["implicit"] | StartTls:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    wanted = options.pop("starttls", None)
    if options:
        raise ValueError(f"starttls is the only option, not {min(options)}")
    if parts.scheme == "smtps":
        if wanted is not None:
            raise ValueError("smtps:// is encrypted from its first byte; starttls is for smtp://")
        return "implicit"
    if wanted is None:
        return StartTls.NEVER if _is_loopback(host) else StartTls.REQUIRED
    if wanted not in {each.value for each in StartTls}:
        raise ValueError("starttls is required, optional or never")
    if wanted == StartTls.NEVER and parts.username and not _is_loopback(host):
        raise ValueError("with starttls=never the password would be sent in the clear")
    return StartTls(wanted)


def _is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None

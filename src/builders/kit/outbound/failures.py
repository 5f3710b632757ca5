"""Failures of outgoing requests, with messages that may be shown to the user who gave the URL.

The messages reveal neither the addresses of a host nor whether a port is closed or filtered.
"""

from enum import StrEnum


class Failure(StrEnum):
    """The stage at which a request failed."""

    DNS = "dns"
    BLOCKED_ADDRESS = "blocked_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    PROTOCOL = "protocol"


_MESSAGES = {
    Failure.DNS: "The host name could not be resolved.",
    Failure.BLOCKED_ADDRESS: "The host has an address that is not public.",
    Failure.CONNECT: "No connection could be made.",
    Failure.TLS: "The TLS handshake failed.",
    Failure.TIMEOUT: "No complete response arrived in time.",
    Failure.TOO_LARGE: "The response is too large.",
    Failure.PROTOCOL: "The connection was lost, or the response is not valid HTTP.",
}
_NOT_SENT = {Failure.DNS, Failure.BLOCKED_ADDRESS, Failure.CONNECT, Failure.TLS}


class OutboundFailed(Exception):
    """A request without a usable response; the message may be shown to users."""

    def __init__(self, kind: Failure, text: str | None = None) -> None:
        super().__init__(text or _MESSAGES[kind])
        self.kind = kind

    @property
    def is_unsent(self) -> bool:
        """Return True if the request was certainly not sent, so that a retry cannot duplicate it."""
        return self.kind in _NOT_SENT


class BlockedAddress(OSError):
    """The address is not allowed; an OSError, because aiohttp passes on no other exception."""

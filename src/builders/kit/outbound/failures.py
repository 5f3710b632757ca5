"""How a call can fail, in words that may be shown to whoever gave the URL.

They tell neither what a name resolved to nor a closed port from a filtered one.
"""

from enum import StrEnum


class Failure(StrEnum):
    """Where a call came to its end."""

    DNS = "dns"
    BLOCKED_ADDRESS = "blocked_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    PROTOCOL = "protocol"


_SAID = {
    Failure.DNS: "The host name could not be resolved.",
    Failure.BLOCKED_ADDRESS: "The host has an address that is not a public one.",
    Failure.CONNECT: "No connection could be made.",
    Failure.TLS: "The TLS handshake failed.",
    Failure.TIMEOUT: "No complete answer came in time.",
    Failure.TOO_LARGE: "The answer is too large.",
    Failure.PROTOCOL: "The connection broke off, or the answer is not valid HTTP.",
}
_UNSENT = {Failure.DNS, Failure.BLOCKED_ADDRESS, Failure.CONNECT, Failure.TLS}


class OutboundFailed(Exception):
    """A call that got no usable answer; its text may be shown."""

    def __init__(self, kind: Failure, text: str | None = None) -> None:
        super().__init__(text or _SAID[kind])
        self.kind = kind

    @property
    def unsent(self) -> bool:
        """Whether the request surely never left, so that repeating it cannot do a thing twice."""
        return self.kind in _UNSENT

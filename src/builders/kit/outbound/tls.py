"""TLS of outgoing connections, with a limit on the data that a peer sends in addition to application data.

Session tickets, key updates and records of a single byte cost processor time and never reach the HTTP parser, so
`meter.py` cannot count them. They are counted where asyncio and uvloop hand them to OpenSSL.
"""

import ssl
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

MAX_OVERHEAD_BYTES = 64 * 1024  # on the wire, in addition to as many bytes as the application's data


class _Context(ssl.SSLContext):
    """A context whose connections count the bytes that they read."""

    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **options: Any) -> ssl.SSLObject:
        """Return a connection with a reference to its incoming buffer."""
        connection = cast("_Connection", super().wrap_bio(incoming, *args, **options))
        connection.incoming = incoming
        return connection


class _Connection(ssl.SSLObject):
    """A TLS connection that fails when the peer sends much more than application data."""

    incoming: ssl.MemoryBIO
    overhead = -MAX_OVERHEAD_BYTES  # bytes

    def read(self, *args: Any, **options: Any) -> Any:
        """Read application data. Raise SSLError if the peer sent too much other data."""
        pending = self.incoming.pending
        size = 0
        try:
            data: Any = super().read(*args, **options)  # the bytes, or how many a given buffer got
            size = data if isinstance(data, int) else len(data)
            return data
        finally:
            self.overhead += pending - self.incoming.pending - 2 * size
            if self.overhead > 0:
                raise ssl.SSLError("The peer sends too much TLS data besides application data.")


@lru_cache(maxsize=4)  # it takes 30 ms to read the authorities of the system
def context(ca: Path | None) -> ssl.SSLContext:
    """Return the client's context: the standard library's defaults, TLS 1.2 or newer, HTTP/1.1."""
    tls = _Context(ssl.PROTOCOL_TLS_CLIENT)
    tls.sslobject_class = _Connection
    if sys.version_info >= (3, 13):  # as `ssl.create_default_context` does since 3.13
        tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    tls.load_default_certs()
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.set_alpn_protocols(["http/1.1"])
    if ca is not None:
        tls.load_verify_locations(ca)
    return tls


# OpenSSL error codes (x509_vfy.h) that the owner of a certificate can correct.
_REASONS = {
    9: "The certificate is not valid yet.",
    10: "The certificate has expired.",
    18: "The certificate is self-signed.",
    19: "The certificate's chain ends in an unknown authority.",
    20: "The certificate's chain is incomplete, or its authority is unknown.",
    62: "The certificate is for another host name.",
    64: "The certificate is for another address.",
}


def tls_reason(error: Exception) -> str | None:
    """Return the reason of a certificate error that the owner can correct; None for other errors."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__
    return None if cause is None else _REASONS.get(cause.verify_code)

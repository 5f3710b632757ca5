"""Health checks of a running service, for `builders serve` and `builders doctor`."""

import http
import http.client

READY_WITHIN_S = 5.0
ALIVE_WITHIN_S = 2.0
ALIVE = b'{"status":"ok"}'
# Wildcard addresses cannot be connected to.
_CONNECT_TO = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound


def is_ready(host: str, port: int) -> bool:
    """Return whether the service answers requests."""
    status, _ = _get(host, port, "/readyz", within_s=READY_WITHIN_S)
    return status == http.HTTPStatus.OK


def is_builders(host: str, port: int) -> bool:
    """Return whether a Builders service is alive there, ready or not."""
    return _get(host, port, "/livez", within_s=ALIVE_WITHIN_S) == (http.HTTPStatus.OK, ALIVE)


def _get(host: str, port: int, path: str, *, within_s: float) -> tuple[int, bytes]:
    """Return the status and the first bytes of the response; 0 without a response."""
    connection = http.client.HTTPConnection(_CONNECT_TO.get(host, host), port, timeout=within_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(len(ALIVE) + 1)
    except (OSError, UnicodeError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()

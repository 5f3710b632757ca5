"""What a running service answers to those who started it: `builders serve` and `builders doctor`."""

import http
import http.client

READY_WITHIN_S = 5.0
ALIVE_WITHIN_S = 2.0
ALIVE = b'{"status":"ok"}'
# Addresses to listen on that nobody can ask, and where to ask instead.
_ASKED = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - asked, not bound


def is_ready(host: str, port: int) -> bool:
    """Whether requests are answered there."""
    status, _ = _ask(host, port, "/readyz", within_s=READY_WITHIN_S)
    return status == http.HTTPStatus.OK


def is_ours(host: str, port: int) -> bool:
    """Whether a service of ours lives there, ready or not."""
    return _ask(host, port, "/livez", within_s=ALIVE_WITHIN_S) == (http.HTTPStatus.OK, ALIVE)


def _ask(host: str, port: int, path: str, *, within_s: float) -> tuple[int, bytes]:
    """Status and the first bytes of the answer; 0 when there is none."""
    connection = http.client.HTTPConnection(_ASKED.get(host, host), port, timeout=within_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(len(ALIVE) + 1)
    except (OSError, UnicodeError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()

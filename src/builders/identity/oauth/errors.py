"""Errors of OAuth. Those of the endpoints for clients carry `error`, as RFC 6749 (5.2) defines it."""

from builders.kit.errors import Problem
from builders.kit.http.media_types import JSON


class ClientRefused(Problem):
    """The request of the client was refused."""

    status, code = 400, "client_refused"
    remedy = "Begin again: ask the person to connect the program."

    def __init__(self, error: str, detail: str) -> None:
        headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
        super().__init__(detail, headers=headers, error=error, error_description=detail)


class RequestNotFound(Problem):
    """This browser has no such request of a program."""

    status, code = 404, "authorization_request_not_found"
    default_detail = "The request was decided, has expired, or was begun in another browser."
    remedy = "Start again in the program, in this browser."


class RequestsFull(Problem):
    """Too many programs wait for a person."""

    status, code = 503, "authorization_requests_full"
    remedy = "Repeat the request after the seconds of Retry-After."


class RequestInvalid(Problem):
    """The request of the program is not valid."""

    status, code = 400, "authorization_request_invalid"
    remedy = "Remove this server in the program, and add it again."


class RequestChanged(Problem):
    """The program describes itself differently now."""

    status, code = 409, "authorization_request_changed"
    default_detail = "The program changed its description after this page was opened."
    remedy = "Open the page again, and check what it says."


class ClientUnavailable(Problem):
    """The description of the program is not available."""

    status, code = 503, "client_unavailable"
    remedy = (
        "Open the page again in a minute. If it fails again, remove this server in the program, and add it again."
    )


class ConnectionNotFound(Problem):
    """The account has no such connection."""

    status, code = 404, "connection_not_found"
    default_detail = "There is no such connection."
    remedy = "List the connections: GET /v1/auth/connections."

"""Errors of the client. `errors` adds a class for each code of the service."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class BuildersError(Exception):
    """Any error of this client."""

    next_action: str | None = None
    """What to do, as a sentence."""


class FieldError(NamedTuple):
    """A value of the request that is not valid."""

    location: tuple[str | int, ...]
    """Path to the value, such as `("body", "events", 0)`."""
    message: str
    """Text for people."""
    code: str
    """Stable name of the broken rule."""
    did_you_mean: str | None
    """The known name or value that is closest."""


class ApiError(BuildersError):
    """The service refused the request. Branch on the class or on `code`; `detail` is for people."""

    code: str = ""
    """Stable name of the problem; a later revision can add codes, which have the class of their status."""

    def __init__(
        self, *, status: int, members: Mapping[str, Any], request_id: str | None, retry_after: float | None
    ) -> None:
        self.status = status
        self.members = members  # of the problem (RFC 9457), with those of its own such as `scope` or `changed`
        self.code = str(members.get("code", f"http_{status}"))
        self.title = str(members.get("title", ""))
        self.detail = _detail(members)
        self.errors = _errors(members)
        self.request_id = members.get("request_id") or request_id
        self.retry_after = retry_after
        self.next_action = members.get("next_action")
        super().__init__(self.detail or self.title or self.code)

    def __str__(self) -> str:
        said = f"{self.status} {self.code}: {self.detail or self.title}"
        said += f" {self.next_action}" if self.next_action else ""
        return f"{said} (request {self.request_id})" if self.request_id else said


class ConnectionFailed(BuildersError):
    """No answer arrived. The service may have executed the request."""

    next_action = "Check the address of the service and the network, then repeat the request."


class TimedOut(ConnectionFailed):
    """No answer arrived in time. The service may have executed the request."""


class RequestInvalid(BuildersError):
    """The request cannot be sent, such as with a line break in the API key."""

    next_action = "Check base_url, the API key and the other headers."


class ReplyInvalid(BuildersError):
    """The reply is not what the document describes."""

    next_action = (
        "Check base_url, and install the version of builders-client that fits the release of the service."
    )


class NotModified(BuildersError):
    """The resource is still the one of `if_none_match`."""


class NoCredentials(BuildersError):
    """The operation needs an API key, and the client has none."""

    next_action = "Give api_key to Builders, or set BUILDERS_API_KEY."


class SignatureMismatch(BuildersError):
    """The webhook request was not signed with the secret, or its time differs too much from the clock."""

    next_action = "Refuse the request with 400, and check the secret of the destination and the clock."


class CursorFileInvalid(BuildersError):
    """The cursor file has other content than `events.follow` writes."""

    next_action = "Name another file; or delete the file, to start with the oldest stored event."


def _detail(members: Mapping[str, Any]) -> str:
    detail = members.get("detail", "")
    if isinstance(detail, str):
        return detail
    return "; ".join(f"{'.'.join(map(str, each.location))}: {each.message}" for each in _errors(members))


def _errors(members: Mapping[str, Any]) -> Sequence[FieldError]:
    """Return the invalid values of a 422."""
    found = members.get("detail")
    if not isinstance(found, list):
        return ()
    return tuple(
        FieldError(
            location=tuple(each.get("loc", ())),
            message=str(each.get("msg", "")),
            code=str(each.get("type", "")),
            did_you_mean=each.get("did_you_mean"),
        )
        for each in found
        if isinstance(each, Mapping)
    )

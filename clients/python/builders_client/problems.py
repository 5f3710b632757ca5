"""Errors of the client. `errors` adds a class for each code of the service."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class BuildersError(Exception):
    """Any error of this client. It passes to other processes (pickle) as it is."""

    next_action: str | None = None
    """What to do, as a sentence."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[BuildersError], args: tuple[Any, ...], members: dict[str, Any]) -> BuildersError:
    """Return the error of these parts: its constructor has other arguments than its text."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


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
        self.code = _text(members.get("code")) or f"http_{status}"
        self.title = _text(members.get("title")) or ""
        self.detail = _detail(members)
        self.errors = _errors(members)
        self.request_id = _text(members.get("request_id")) or request_id
        self.retry_after = retry_after
        self.next_action = _text(members.get("next_action"))
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


class EnvironmentInvalid(BuildersError):
    """The environment names a proxy or certificates that cannot be used."""

    next_action = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."


class ReplyInvalid(BuildersError):
    """The reply is not what the document describes: its status, its media type or its members."""

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


class SecretInvalid(BuildersError, ValueError):
    """The secret is empty, or the text after `whsec_` is not base64: anybody could sign with it."""

    next_action = "Give the signing secret of the destination as the service showed it."


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
            location=tuple(each["loc"]) if isinstance(each.get("loc"), list) else (),
            message=_text(each.get("msg")) or "",
            code=_text(each.get("type")) or "",
            did_you_mean=_text(each.get("did_you_mean")),
        )
        for each in found
        if isinstance(each, Mapping)
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None

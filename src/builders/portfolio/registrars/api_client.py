"""Requests to the API of one registrar, with its rate limit, retries and failures.

A response is at most 16 MiB, and at most 1 MiB from a base URL that a user set. Addresses that users give go
through the outbound client (decision 0010).
"""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Protocol, TypeVar
from xml.etree.ElementTree import Element, ParseError

import stamina
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import traces
from builders.kit.values import clock
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure

TOTAL_S = 30.0  # of one request
MAX_BYTES = 16 * 1024 * 1024
STAND_IN_BYTES = 1024 * 1024  # of a response of a base URL that a user set
SMALL_BYTES = 64 * 1024  # of a response that is parsed within 20 ms
ATTEMPTS = 3
SHORT_WAIT_S = 5.0  # after a rate limit without a time; a longer time that a registrar names ends the run
_SERVER_ERROR = 500
_REDIRECTED = "The registrar redirects to another address, and redirects are not followed. Check the base URL."
_PAGE = "The registrar sent a web page in place of an answer, as a firewall or a maintenance does."
_PAGE_HEAD = 2_048  # bytes of a body that show whether it is a web page, or a text about a rate limit
LIMIT_WORDS = ("too many requests", "rate limit", "throttl")  # of a text about a rate limit, in lower case
# A comment ends at its first end: were it longer by choice, a text of many comments would take forever.
_IS_PAGE = re.compile(
    rb"(?is)(?:\s|<\?xml[^>]*>|<!--(?:(?!-->).)*-->)*"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|center|div|table|pre|p|br|h[1-6])\b"
)
_BOM = b"\xef\xbb\xbf"
# The members of a body that name the seconds to wait: of GoDaddy (ErrorLimit of developer.godaddy.com/doc), and of
# Porkbun (porkbun.com/api/json/v3/documentation).
_WAIT_MEMBERS = ("retryAfterSec", "ttlRemaining")

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)


class Pace(Protocol):
    """The rate limit of a connection, shared by all processes."""

    async def acquire(self) -> None:
        """Wait until one more request is allowed. Raise RegistrarFailed when that takes too long."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """A response."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # case-insensitive

    def json(self) -> Any:  # any JSON; `read` validates its type
        """Return the body as JSON. Raise RegistrarFailed when it is none."""
        try:
            return from_json(self.body)
        except ValueError as error:
            raise RegistrarFailed(RegistrarFailure.MALFORMED) from error

    def xml(self) -> Element:
        """Return the root of an XML body without entities. Raise RegistrarFailed when it is none."""
        try:
            root: Element = fromstring(self.body)
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:  # the last: of an encoding
            raise RegistrarFailed(RegistrarFailure.MALFORMED) from error
        return root

    def is_page(self) -> bool:
        """Return whether the body is a web page, whatever its type and status say."""
        return _IS_PAGE.match(self.body[:_PAGE_HEAD].removeprefix(_BOM)) is not None

    def is_limit(self) -> bool:
        """Return whether the body is a short text about a rate limit, such as that of a proxy."""
        text = self.body[:_PAGE_HEAD].decode(errors="replace").lower()
        return len(self.body) < _PAGE_HEAD and any(word in text for word in LIMIT_WORDS)

    def wait_s(self) -> float | None:
        """Return the seconds to wait that a header or the body names."""
        named = _retry_after_s(self.headers)
        if named is not None or len(self.body) > SMALL_BYTES:
            return named
        try:
            body = from_json(self.body)
        except ValueError:
            return None
        found = [body.get(name) for name in _WAIT_MEMBERS] if isinstance(body, dict) else []
        try:
            return next((float(each) for each in found if isinstance(each, int | float)), None)
        except OverflowError:  # an integer of hundreds of digits
            return None


def read(form: type[Model], value: object) -> Model:
    """Return a part of a response as a model. Raise RegistrarFailed when it has another shape."""
    try:
        return form.model_validate(value)
    except (ValidationError, ArithmeticError):  # also a time or an amount that is too large
        # Without the cause: it quotes the input, which can hold personal data.
        raise RegistrarFailed(RegistrarFailure.MALFORMED) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiClient:
    """The API of one registrar at one base URL."""

    outbound: Outbound = field(repr=False)
    pace: Pace
    base_url: str
    max_bytes: int = MAX_BYTES  # of a response
    total_s: float = TOTAL_S
    registrar: str = "other"  # in traces

    async def send(
        self,
        method: str,
        path: str,
        *,
        into: Callable[[ApiResponse], T],
        headers: Mapping[str, str],
        body: bytes | None,
        reads: bool,
        limits: Collection[int] = (HTTPStatus.TOO_MANY_REQUESTS,),
    ) -> T:
        """Send a request and parse the response with `into`. Raise RegistrarFailed.

        Only a request that `reads` is retried after a temporary failure, also one that `into` raises. A large
        response is parsed in a thread, so that the event loop stays free. `limits`: the statuses of a rate limit.
        """
        attempts = ATTEMPTS if reads else 1
        try:
            async for attempt in stamina.retry_context(
                on=_backoff, attempts=attempts, timeout=self.total_s * attempts
            ):
                with attempt:
                    response = await self._send(method, f"{self.base_url}{path}", headers=headers, body=body)
                    return await _parse(response, into, limits)
        except RegistrarFailed as failure:
            if failure.kind is not RegistrarFailure.IP_NOT_ALLOWED:
                raise
            hint = " ".join(filter(None, (failure.hint, _address_hint(self.outbound.ip))))
            raise RegistrarFailed(failure.kind, hint=hint, code=failure.code) from None
        raise AssertionError("stamina raises the last failure")

    async def _send(self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None) -> ApiResponse:
        await self.pace.acquire()
        options: dict[str, Any] = {"total_s": self.total_s, "max_bytes": self.max_bytes, "reuse": True}
        try:
            with traces.span("registrar.request", "client", registrar=self.registrar):
                response = await self.outbound.request(method, url, headers=headers, body=body, **options)
        except OutboundFailed as error:
            # The URL of some registrars holds the key: only the kind of the failure is kept.
            raise RegistrarFailed(RegistrarFailure.UNAVAILABLE, hint=str(error)) from None
        return ApiResponse(status=response.status, body=response.body, headers=response.headers)


async def _parse(response: ApiResponse, into: Callable[[ApiResponse], T], limits: Collection[int]) -> T:
    """Parse a response. Raise RegistrarFailed for one that is not the word of the registrar's API.

    A web page never is: a firewall, a proxy or a maintenance sends it, with any status.
    """
    code = str(response.status)
    if response.status in limits:
        raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=response.wait_s())
    is_redirect = HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST
    if response.is_page():
        raise RegistrarFailed(RegistrarFailure.UNAVAILABLE, code=code, hint=_REDIRECTED if is_redirect else _PAGE)
    if is_redirect:
        raise RegistrarFailed(RegistrarFailure.REFUSED, code=code, hint=_REDIRECTED)
    if response.status >= _SERVER_ERROR:
        raise RegistrarFailed(RegistrarFailure.UNAVAILABLE, code=code)
    try:
        is_large = len(response.body) > SMALL_BYTES
        return await asyncio.to_thread(into, response) if is_large else into(response)
    except RegistrarFailed as failure:
        limited, kind = RegistrarFailure.RATE_LIMITED, failure.kind
        if kind is RegistrarFailure.MALFORMED and response.is_limit():
            kind = limited
        if kind is not limited or failure.retry_after_s is not None:
            raise
        raise RegistrarFailed(
            limited, hint=failure.hint, code=failure.code, retry_after_s=response.wait_s()
        ) from None


def _address_hint(ip: str | None) -> str:
    if ip is not None:
        return f"Add the outgoing address of this service to the registrar's allowed addresses: {ip}."
    return (
        "Add the outgoing address of this service to the registrar's allowed addresses; on the machine of "
        "the service, `curl https://checkip.amazonaws.com` shows it."
    )


def _backoff(error: Exception) -> bool | timedelta:
    """Return whether to try again, and after which time where the registrar named one."""
    if not isinstance(error, RegistrarFailed) or not error.is_temporary:
        return False
    if error.kind is not RegistrarFailure.RATE_LIMITED:
        return True
    wait_s = SHORT_WAIT_S if error.retry_after_s is None else error.retry_after_s
    return timedelta(seconds=wait_s) if wait_s <= SHORT_WAIT_S else False


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After, also given as a date (RFC 9110, 10.2.3), or of a header of a limit.

    RateLimit-Reset has seconds, and X-RateLimit-Reset the second of the epoch at which the limit ends.
    """
    text = (headers.get("Retry-After") or headers.get("RateLimit-Reset") or "").strip()
    until = headers.get("X-RateLimit-Reset", "").strip()
    if text.isdecimal():
        return float(text)
    if not text and until.isdecimal():
        return max(0.0, float(until) - clock.now().timestamp())
    try:
        return max(0.0, (parsedate_to_datetime(text) - clock.now()).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None

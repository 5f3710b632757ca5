"""Clients: their metadata documents, and the addresses that they may be answered at.

A client is named by the address of its document (draft-ietf-oauth-client-id-metadata-document-02), which is
fetched only for a person who has signed in: else anybody could let this service send requests. Each process
remembers documents for a day, and failures for a minute.
"""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from builders.identity.devices.service import clean_host
from builders.identity.oauth.errors import ClientUnavailable, RequestInvalid
from builders.kit.errors import Problem
from builders.kit.http.media_types import is_json
from builders.kit.outbound.client import Outbound, OutboundFailed, Response, UrlRefused
from builders.kit.values import clock

KEPT_FOR, REFUSED_FOR = timedelta(hours=24), timedelta(minutes=1)
MAX_KEPT = 1_000  # documents of a process
MAX_BYTES, TOTAL_S = 5 * 1024, 3.0
MAX_REDIRECTS, MAX_URI = 20, 2_000  # characters
NO_CLIENT = "This service does not know the program."
# The hosts are literal: a name that resolves to this machine may belong to somebody else elsewhere.
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?(/[!-\[\]-~]*)?")
_WEB = re.compile(r"https://([a-z0-9.-]+(?::[0-9]{1,5})?)(/[!-\[\]-~]*)?")

Admit = Callable[[], Awaitable[None]]  # counts a fetch; raises a refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client as it describes itself. Nobody has checked its name."""

    id: str
    name: str
    redirect_uris: Sequence[str]
    digest: str  # SHA-256 of its description

    def admits(self, redirect_uri: str) -> bool:
        """Return whether the client may be answered there: the same address; on this computer with any port."""
        asked = _without_port(redirect_uri)
        return asked is not None and any(asked == _without_port(each) for each in self.redirect_uris)


def _without_port(uri: str) -> str | None:
    """Return the address without its port if it is on the person's computer; None for a malformed one."""
    if len(uri) > MAX_URI or "#" in uri:
        return None
    loopback = _LOOPBACK.fullmatch(uri)
    if loopback is not None:
        return f"{loopback[1]}{loopback[2] or ''}"
    return uri if _WEB.fullmatch(uri) else None


def is_loopback(redirect_uri: str) -> bool:
    """Return whether a program on the person's computer gets the answer."""
    return _LOOPBACK.fullmatch(redirect_uri) is not None


class ClientDocuments:
    """The metadata documents that a process has fetched."""

    def __init__(self, outbound: Outbound, *, total_s: float = TOTAL_S) -> None:
        self._outbound, self._total_s = outbound, total_s
        self._found: OrderedDict[str, tuple[Client | Problem, datetime]] = OrderedDict()  # with the end

    async def get(self, client_id: str, *, admit: Admit) -> Client:
        """Return the client; `admit` is called before a fetch. Raise RequestInvalid, ClientUnavailable."""
        _require_address(self._outbound, client_id)
        found, until = self._found.get(client_id, (None, None))
        if until is None or clock.now() >= until:
            await admit()
            found = await self._fetch(client_id)
            self._found.pop(client_id, None)
            if len(self._found) >= MAX_KEPT:
                self._found.popitem(last=False)
            kept_for = KEPT_FOR if isinstance(found, Client) else REFUSED_FOR
            self._found[client_id] = found, clock.now() + kept_for
        if isinstance(found, Client):
            return found
        assert found is not None  # noqa: S101 - an entry has one of them
        raise type(found)(found.detail)

    async def _fetch(self, client_id: str) -> Client | Problem:
        try:
            answer = await self._outbound.request(
                "GET",
                client_id,
                headers={"Accept": "application/json"},
                total_s=self._total_s,
                max_bytes=MAX_BYTES,
            )
        except OutboundFailed:
            return ClientUnavailable(f"{NO_CLIENT} Its description could not be read.")
        try:
            return _read(client_id, answer)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, _Unfit) else "Its description is no JSON."
            return RequestInvalid(f"{NO_CLIENT} {why}")


class _Unfit(ValueError):
    """The document does not fit; the message may be shown."""


def _require_address(outbound: Outbound, client_id: str) -> None:
    """Raise RequestInvalid unless the client is named by the normal form of an address of the web, with a path."""
    try:
        target = outbound.validate_url(client_id, https_only=True)
    except UrlRefused as refusal:
        raise RequestInvalid(f"{NO_CLIENT} Its client_id is not allowed: {refusal.message}") from None
    segments = target.path.split("/")
    if target.url != client_id or "?" in client_id or target.path == "/" or {".", ".."}.intersection(segments):
        raise RequestInvalid(f"{NO_CLIENT} Its client_id is no https address with a path and without a query.")


def _read(client_id: str, answer: Response) -> Client:
    if answer.status != HTTPStatus.OK or not is_json(answer.headers.get("Content-Type", "")):
        raise _Unfit("The address of its description has none.")
    document: Any = json.loads(answer.body)
    if not isinstance(document, dict) or document.get("client_id") != client_id:
        raise _Unfit("Its description is that of another program.")
    if document.get("token_endpoint_auth_method") != "none" or "client_secret" in document:
        raise _Unfit("It is no public client: its description must say token_endpoint_auth_method none.")
    return describe(client_id, document, own_place=urlsplit(client_id).netloc, content=answer.body)


def describe(client_id: str, document: Mapping[str, Any], *, own_place: str, content: bytes) -> Client:
    """Return the client of a description, with the addresses on its own host and on the person's computer.

    Raise ValueError without such an address.
    """
    listed = document.get("redirect_uris")
    texts = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    usable = [each for each in texts[:MAX_REDIRECTS] if _is_usable(each, own_place)]
    if not usable:
        raise _Unfit("Its description has no address on its own host or on this computer to answer at.")
    name = document.get("client_name")
    digest = hashlib.sha256(content).hexdigest()
    shown = clean_host(name if isinstance(name, str) else "", unnamed="an unnamed program")
    return Client(id=client_id, name=shown, redirect_uris=usable, digest=digest)


def _is_usable(uri: str, own_place: str) -> bool:
    if _without_port(uri) is None:
        return False
    web = _WEB.fullmatch(uri)
    return is_loopback(uri) or (web is not None and web[1] == own_place)

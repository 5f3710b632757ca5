"""Authorization requests: begun by a client in a browser, decided by the person who is signed in there.

The request is stored as it was sent, for ten minutes, and belongs to the browser that began it: a cookie holds
what opens it. Sign-in carries its id only. Nothing is sent back to an address before the client and the address
are known to fit, and then only when the person says so: this service leads nobody to a page of strangers.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from builders.identity import accounts, keys
from builders.identity.events import CONNECTION_CREATED, ConnectionCreated
from builders.identity.oauth import store
from builders.identity.oauth.clients import Admit, Client, ClientDocuments, is_loopback
from builders.identity.oauth.errors import RequestChanged, RequestInvalid, RequestNotFound, RequestsFull
from builders.identity.oauth.records import (
    RESOURCE_PATH,
    Decided,
    OpenedRequest,
    StoredRequest,
    Terms,
    WaitingRequest,
)
from builders.identity.records import AuditAction, ConnectionSpec
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import unicode_of

LIFETIME = timedelta(minutes=10)
CODE_LIFETIME = timedelta(seconds=60)
MAX_PARAMETERS = 8_000  # characters of the query
MAX_STATE = 4_000
MAX_SCOPES = 50
BUSY_S = 30
_BROWSER = "authorization request"  # purpose in the keyring
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")  # of a browser
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 in base64url
_SINGLE = frozenset(
    {
        *("response_type", "response_mode", "client_id", "redirect_uri", "scope", "state"),
        *("code_challenge", "code_challenge_method"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A new request, and what its browser keeps."""

    id: UUID
    browser: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The authorization requests of one browser; no transaction is open while a description is fetched."""

    database: Database
    keyring: Keyring
    documents: ClientDocuments
    url: str  # of this service: the issuer
    browser: str | None  # the secret of its cookie
    admit: Admit

    async def begin(self, query: str) -> Begun:
        """Store a request of a client. Raise RequestInvalid, RequestsFull."""
        if len(query) > MAX_PARAMETERS:
            raise RequestInvalid(f"The request of the program has more than {MAX_PARAMETERS} characters.")
        browser = self.browser
        if browser is None or not _SECRET.fullmatch(browser):
            browser = secrets.token_urlsafe(32)
        begun = Begun(id=ids.new(), browser=browser)
        async with self.database.transaction() as conn:
            await store.lock_requests(conn)
            is_new = await store.insert_request(
                conn,
                request_id=begun.id,
                browser_hash=self.keyring.hash_token(_BROWSER, browser),
                parameters=query,
                expires_at=clock.now() + LIFETIME,
                now=clock.now(),
            )
        if not is_new:
            raise RequestsFull(retry_after=BUSY_S)
        return begun

    async def list_waiting(self) -> Sequence[WaitingRequest]:
        """Return the requests that this browser began, and that wait for a decision."""
        if self.browser is None:
            return ()
        async with self.database.connection() as conn:
            return await store.list_requests(conn, hashes=self._hashes(), now=clock.now())

    async def open(self, request_id: UUID) -> OpenedRequest:
        """Return a request of this browser. Raise RequestNotFound, RequestInvalid, ClientUnavailable."""
        stored = await self._get(request_id)
        asked, client = await self._read(stored)
        error = asked.find_error(self.url)
        where = urlsplit(asked.client_id).hostname or ""
        to = None if is_loopback(asked.redirect_uri) else urlsplit(asked.redirect_uri).hostname
        return OpenedRequest(
            id=stored.id,
            expires_at=stored.expires_at,
            client_id=client.id,
            client_name=client.name,
            client_digest=client.digest,
            client_host=where,
            client_host_unicode=unicode_of(where),
            redirect_host=to,
            redirect_host_unicode=to and unicode_of(to),
            scopes=asked.scopes,
            error=error,
            redirect_url=error and asked.answer(self.url, error=error),
        )

    async def decide(
        self, request_id: UUID, *, account_id: UUID, actor: Actor, client_digest: str, terms: Terms | None
    ) -> Decided:
        """Give the client a connection on these terms, or none; the request is used up. Audited.

        Publish connection.created and api_key.created. Raise RequestNotFound, RequestInvalid, RequestChanged,
        ClientUnavailable, KeyLimit.
        """
        asked, client = await self._read(await self._get(request_id))
        if client.digest != client_digest:
            raise RequestChanged
        error = asked.find_error(self.url)
        if error is not None:
            raise RequestInvalid(f"The request of the program is not valid: {error}.")
        async with self.database.transaction() as conn:
            if not await store.use_request(conn, request_id=request_id, hashes=self._hashes(), now=clock.now()):
                raise RequestNotFound
            if terms is None:
                await _record(conn, account_id, actor, AuditAction.CONNECTION_DENIED, asked, client)
                return Decided(redirect_url=asked.answer(self.url, error="access_denied"))
            spec = _spec(client, terms)
            key = await keys.create_connection(conn, account_id=account_id, actor=actor, spec=spec)
            more = {"key_id": str(key.id)}
            await _record(conn, account_id, actor, AuditAction.CONNECTION_APPROVED, asked, client, **more)
            made = ConnectionCreated(id=key.id, label=key.label, client_host=urlsplit(client.id).netloc)
            await outbox.publish(conn, CONNECTION_CREATED, account_id=account_id, data=made)
            code = keys.generate_secret(keys.CODE, account_id)
            await store.insert_code(
                conn,
                account_id=account_id,
                digest=code.digest,
                key_id=key.id,
                session_id=actor.id,
                client_id=client.id,
                redirect_uri=asked.redirect_uri,
                challenge=asked.challenge,
                expires_at=clock.now() + CODE_LIFETIME,
            )
        return Decided(redirect_url=asked.answer(self.url, code=code.text), connection_id=key.id)

    def _hashes(self) -> list[bytes]:
        return self.keyring.hashes(_BROWSER, self.browser or "")

    async def _get(self, request_id: UUID) -> StoredRequest:
        async with self.database.connection() as conn:
            found = await store.find_request(conn, request_id=request_id, hashes=self._hashes(), now=clock.now())
        if found is None:
            raise RequestNotFound
        return found

    async def _read(self, stored: StoredRequest) -> tuple["Asked", Client]:
        """Return the request and its client, which may be answered at the address of the request."""
        asked = read_parameters(stored.parameters)
        client = await self.documents.get(asked.client_id, admit=self.admit)
        if not client.admits(asked.redirect_uri):
            raise RequestInvalid(
                "The program asks to be answered at an address that its description does not have."
            )
        return asked, client


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters of a request (RFC 6749, 4.1.1; RFC 7636, 4.3; RFC 8707, 2.1)."""

    client_id: str
    redirect_uri: str
    response_type: str
    response_mode: str
    scopes: Sequence[str]
    state: str | None
    challenge: str
    method: str
    resources: Sequence[str]

    def find_error(self, url: str) -> str | None:
        """Return the error code of the request; None for a valid one."""
        if self.response_type != "code":
            return "unsupported_response_type" if self.response_type else "invalid_request"
        is_bound = _CHALLENGE.fullmatch(self.challenge) is not None and self.method == "S256"
        if not is_bound or self.response_mode not in {"", "query"} or len(self.state or "") > MAX_STATE:
            return "invalid_request"
        return None if all(each == f"{url}{RESOURCE_PATH}" for each in self.resources) else "invalid_target"

    def answer(self, url: str, **members: str) -> str:
        """Return the address of the client with an answer: its `state`, and who answers (RFC 9207)."""
        state = {} if self.state is None else {"state": self.state}
        query = urlencode({**members, **state, "iss": url})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{query}"


def read_parameters(query: str) -> Asked:
    """Return the parameters of a request. Raise RequestInvalid without a client, and for a repeated one."""
    sent: dict[str, str] = {}
    resources: list[str] = []
    for name, value in parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_SCOPES):
        if name == "resource":
            resources.append(value)
        elif name in sent and name in _SINGLE:
            raise RequestInvalid(f"The program sent {name} twice.")
        sent[name] = value
    if not sent.get("client_id") or not sent.get("redirect_uri"):
        raise RequestInvalid("The program sent no client_id or no redirect_uri.")
    return Asked(
        client_id=sent["client_id"],
        redirect_uri=sent["redirect_uri"],
        response_type=sent.get("response_type", ""),
        response_mode=sent.get("response_mode", ""),
        scopes=sent.get("scope", "").split()[:MAX_SCOPES],
        state=sent.get("state"),
        challenge=sent.get("code_challenge", ""),
        method=sent.get("code_challenge_method", ""),
        resources=resources,
    )


def _spec(client: Client, terms: Terms) -> ConnectionSpec:
    return ConnectionSpec(
        label=client.name,
        kind=terms.kind,
        client=client.id,
        client_name=client.name,
        mandate=terms.mandate,
        expires_at=terms.expires_at,
    )


async def _record(
    conn: Conn, account_id: UUID, actor: Actor, action: AuditAction, asked: Asked, client: Client, **more: str
) -> None:
    about = {"client_id": client.id, "client_name": client.name, "client_digest": client.digest}
    about |= {"redirect_host": urlsplit(asked.redirect_uri).netloc}
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about | more)

# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model, Money

from .shared import ActorReply, Mandate, UnknownField


class ConnectionRequest(Model):
    """A program that asks for a connection, as the person sees it."""

    id: str
    """Identifier of the request; it opens nothing in another browser."""
    expires_at: AwareDatetime
    """Until when it can be decided."""
    client_id: str
    """The address of the program's description."""
    client_name: str
    """The name that the program claims. Anybody can claim any name."""
    client_digest: str
    """SHA-256 of the description; a decision repeats it."""
    client_host: str
    """The host of the description, as in the domain name system."""
    client_host_unicode: str
    """The same host in Unicode."""
    redirect_host: str | None
    """The host that gets the answer; null: a program on this computer."""
    redirect_host_unicode: str | None
    """The same host in Unicode."""
    scopes: list[str]
    """What the program asks for; it gets what the person chooses."""
    error: str | None
    """Why the request is refused (RFC 6749, 4.1.2.1); null: a person can decide."""
    redirect_url: str | None
    """Where to tell the program that its request is refused."""


class JwkReply(Model):
    """The public key of a key that signs access tokens (RFC 8037)."""

    kty: str | None = None
    """Key type (RFC 8037)."""
    crv: str | None = None
    """Curve of the key."""
    use: str | None = None
    """The key verifies signatures."""
    alg: str | None = None
    """Algorithm of the signatures."""
    kid: str
    """Identifier of the key, as in the header of a token."""
    x: str
    """The public key, base64url."""


class JwksReply(Model):
    """A set of public keys (RFC 7517); the first one belongs to the key that signs."""

    keys: list[JwkReply]
    """The current key and those whose tokens are still valid."""


class LeakedKeyReply(Model):
    """What a report about a leaked key did."""

    revoked: bool
    """Whether the key worked until now; then it is revoked."""
    prefix: str | None
    """The public beginning of the key; null for a key that does not exist."""


class LogoutReply(Model):
    """The session has ended."""

    authenticated: bool | None = None
    """Always false: the session is ended."""


class SessionAccount(Model):
    """The account of the caller; with a test key also the real account."""

    id: str
    """Identifier of the account."""
    name: str
    """Name of the account."""
    email: str
    """Email address of the account."""
    email_verified: bool
    """Whether the address is verified."""


class SessionAct(Model):
    """Who acts for the account (RFC 8693, 4.1)."""

    sub: str
    """Name of the vendor's employee (RFC 8693, `act`)."""


class SessionImpersonation(Model):
    """The vendor's support signed in as the account with a login-as grant."""

    grant_id: str
    """Identifier of the login-as grant."""
    operator: str
    """Name of the vendor's employee."""
    reason: str
    """The reason that support stated."""
    may_write: bool
    """Whether the session may change data."""
    expires_at: AwareDatetime
    """When the session ends; it is not renewed."""
    act: SessionAct
    """Who acts for the account."""


class SessionItem(Model):
    """A session of the account."""

    id: str
    """Identifier of the session, for `DELETE /v1/auth/sessions/{session_id}`."""
    kind: str
    """A person's login, a token made by the operator, or support signed in as the account. Known values: login, token, login_as."""
    created_at: AwareDatetime
    """When the session was opened."""
    expires_at: AwareDatetime
    """When the session expires."""
    ended_at: AwareDatetime | None
    """When it was ended before its expiry."""
    address: str | None
    """IP address of the client that opened it."""
    user_agent: str | None
    """`User-Agent` of the browser that opened it; null when unknown."""
    impersonation: SessionImpersonation | None
    """Set when the vendor's support opened it; null otherwise."""
    signed_in_by: str | None
    """How the person signed in: `mail_code`, `mail_link`, or the issuer; null for other kinds."""
    current: bool
    """Whether it is the session of this request."""


class SessionItemPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[SessionItem]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class SessionKey(Model):
    """The API key that was sent."""

    id: str
    """Identifier of the API key."""
    label: str
    """Your name for the key."""
    kind: str
    """`live` or `test`. Known values: live, test."""
    preset: str | None
    """Role preset that sets the scopes; null for a connection. Known values: domainer_full, developer_full."""


class SessionStart(Model):
    """The session of the token."""

    id: str
    """Identifier of the session."""
    created_at: AwareDatetime
    """When the session was opened."""


class WaitingConnection(Model):
    """A request of a program that this browser began."""

    id: str
    """Identifier of the request; it opens nothing in another browser."""
    expires_at: AwareDatetime
    """Until when it can be decided."""


class WaitingConnectionListing(Model):
    """A short list that needs no pages."""

    items: list[WaitingConnection]
    """All items."""


class ConnectionDecision(Model):
    """The answer to the program, which the browser takes there."""

    redirect_url: str | None = None
    """The address of the program with a code or the refusal; absent when an Idempotency-Key repeats it."""
    connection_id: str | None
    """The new connection; null after a refusal."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class DeviceAuthorizationReply(Model):
    """The codes of a machine (RFC 8628, 3.2)."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    device_code: str
    """The secret that the machine polls with."""
    user_code: str
    """The code that the person types, such as `7KQX-M2PD`."""
    verification_uri: str
    """The page on which the person types it."""
    expires_in: int
    """Seconds until the codes expire."""
    interval: int
    """Seconds to wait between two polls."""


class DeviceRequestReply(Model):
    """A machine that asks for keys, as the person sees it. Only the account that typed its code sees it."""

    id: str
    """Identifier of the request; it opens nothing."""
    host: str
    """The name that the machine claims. Anybody can claim any name."""
    address: str
    """The address that the request came from; empty when unknown."""
    presets: list[str]
    """The presets of test keys that the machine asks for. Known values: domainer_full, developer_full."""
    asks_live: bool
    """Whether the machine asks for a live key."""
    asks_agent: bool
    """Whether it asks for an agent: its keys need a mandate."""
    expires_at: AwareDatetime
    """Until when it can be decided."""
    status: str
    """`pending`, `approved`, `denied` or `expired`. Known values: pending, approved, denied, expired."""
    keys_left: int
    """API keys that the account can still have."""
    same_address: bool
    """Whether this request has the address of the machine."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class LoginReply(Model):
    """The code was sent, if the address has an account or can open one."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    status: str | None = None
    """Always `sent`, with or without an account of the address."""
    expires_in_s: int
    """Lifetime of the code, from its creation."""


class SessionReply(Model):
    """The caller: the account, its credentials and their scopes."""

    authenticated: bool | None = None
    """Always true; without valid credentials the response is 401."""
    method: str
    """The form of the credentials. Known values: api_key, jwt, cookie, oauth."""
    account: SessionAccount
    """The account; with a test key also the real account."""
    actor: ActorReply
    """The caller: a person, an API key or support."""
    key: SessionKey | None
    """The API key or connection that was used; null with other credentials."""
    mandate: Mandate | None
    """What these credentials may do and spend; null: what their scopes allow."""
    session: SessionStart | None
    """The session; null with an API key, and with a token of another issuer."""
    scopes: list[str]
    """Scopes of these credentials, with those that they imply."""
    mode: str
    """`test` with a test key, else `live`. Known values: live, test."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    expires_at: AwareDatetime | None
    """When these credentials end; null: never."""
    impersonation: SessionImpersonation | None
    """The support session; null when the account's owner makes the request."""


class SignedInReply(Model):
    """The new session. Only the cookie contains its token; programs use API keys."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    authenticated: bool | None = None
    """Always true; without valid credentials the response is 401."""
    method: str
    """The form of the credentials. Known values: api_key, jwt, cookie, oauth."""
    account: SessionAccount
    """The account; with a test key also the real account."""
    actor: ActorReply
    """The caller: a person, an API key or support."""
    key: SessionKey | None
    """The API key or connection that was used; null with other credentials."""
    mandate: Mandate | None
    """What these credentials may do and spend; null: what their scopes allow."""
    session: SessionStart | None
    """The session; null with an API key, and with a token of another issuer."""
    scopes: list[str]
    """Scopes of these credentials, with those that they imply."""
    mode: str
    """`test` with a test key, else `live`. Known values: live, test."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
    expires_at: AwareDatetime | None
    """When these credentials end; null: never."""
    impersonation: SessionImpersonation | None
    """The support session; null when the account's owner makes the request."""


class ConnectionItem(Model):
    """A client that a person has connected to the account: a key without a secret."""

    id: str
    """Identifier of the key; not the secret."""
    label: str
    """Your name for the key."""
    key_kind: str
    """`live` keys have real effects; `test` keys work on the sandbox. Known values: live, test."""
    preset: str | None
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios. Null for a connection, whose mandate sets them. Known values: domainer_full, developer_full."""
    prefix: str
    """The public beginning of the secret; empty for a connection, which has none."""
    last4: str
    """Last four characters of the secret, to recognize the key."""
    created_at: AwareDatetime
    """When the key was minted."""
    expires_at: AwareDatetime | None
    """When the key expires; null: never."""
    revoked_at: AwareDatetime | None
    """When the key was revoked; null while it works."""
    last_used_at: AwareDatetime | None
    """When the key was last used, to within five minutes."""
    disabled_at: AwareDatetime | None
    """When a restore disabled the key; null: it works."""
    allowed_ips: list[str] | None
    """The networks that the key works from; null: any."""
    mandate: Mandate | None
    """What the key may do and spend of what its scopes allow; null: all of it."""
    client_name: str | None
    """The client of a connection, as it calls itself; null for a key."""
    unused_scopes: list[str]
    """The scopes that it had for 90 days without using them; a person can remove them."""
    client_id: str
    """The address of the client's description."""
    left: list[Money]
    """What is left of `max_total_per_30_days` for all connections of this client."""


class ConnectionItemPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[ConnectionItem]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class DeviceKey(Model):
    """A new API key with its secret, which is not stored."""

    id: str
    """Identifier of the key; not the secret."""
    label: str
    """Your name for the key."""
    key_kind: str
    """`live` keys have real effects; `test` keys work on the sandbox. Known values: live, test."""
    preset: str
    """Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios. Known values: domainer_full, developer_full."""
    prefix: str
    """The public beginning of the secret; empty for a connection, which has none."""
    last4: str
    """Last four characters of the secret, to recognize the key."""
    created_at: AwareDatetime
    """When the key was minted."""
    expires_at: AwareDatetime | None
    """When the key expires; null: never."""
    revoked_at: AwareDatetime | None
    """When the key was revoked; null while it works."""
    last_used_at: AwareDatetime | None
    """When the key was last used, to within five minutes."""
    disabled_at: AwareDatetime | None
    """When a restore disabled the key; null: it works."""
    allowed_ips: list[str] | None
    """The networks that the key works from; null: any."""
    mandate: Mandate | None
    """What the key may do and spend of what its scopes allow; null: all of it."""
    client_name: str | None
    """The client of a connection, as it calls itself; null for a key."""
    unused_scopes: list[str]
    """The scopes that it had for 90 days without using them; a person can remove them."""
    scopes: list[str]
    """Scopes of the preset, with those that they imply."""
    secret: str
    """The key itself."""


class DeviceKeysReply(Model):
    """The keys of the machine, in place of an access token. Store their secrets at once."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    keys: list[DeviceKey]
    """A test key for each preset that the person chose, and any live key."""

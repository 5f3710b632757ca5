"""Who calls an operation, and who acts: a key, a person, support or the operator."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from builders.kit.errors import Problem
from builders.kit.mandates import Mandate
from builders.kit.values import clock
from builders.kit.values.docs import doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something, as the audit log and other records store it."""

    # A user has signed in; an agent is a client with a connection; the operator has a shell.
    type: Literal["key", "user", "support", "operator", "agent"]
    id: UUID | None = None  # of the key, the connection, the session or the login-as grant
    label: str | None = None  # of support and the operator: a name or address; of an agent the client
    signed_in_at: datetime | None = None  # when a person opened the browser session of the request; else None

    def __str__(self) -> str:
        """Return the text of a column: the id of the key or connection; else the type and its label or id."""
        if self.type in {"key", "agent"}:
            return str(self.id)
        return " ".join(filter(None, (self.type, self.label or (str(self.id) if self.id else None))))


OPERATOR = Actor(type="operator")
APPROVE = "plans:approve"  # the scope of people: no key and no token holds it
FRESH_FOR = timedelta(minutes=10)  # how long after signing in a person can decide


class PersonRequired(Problem):
    """A person must do this, signed in with a browser."""

    status, code = 403, "person_required"
    is_of_kind = True
    remedy = "Sign in with a browser: /v1/auth/login."


class FreshSignInRequired(Problem):
    """The person must sign in again."""

    status, code = 401, "fresh_sign_in_required"
    remedy = "Sign in again: open /v1/auth/login, or use POST /v1/auth/login and POST /v1/auth/login/redeem."


_NO_PERSON: Mapping[str, tuple[str, str]] = {
    "key": ("api_key", "An API key is not a person."),
    "agent": ("agent", "A connection of a client is not a person."),
    "support": ("support_session", "A support session cannot decide for the account."),
    "user": ("token", "A bearer token, or a session that no person opened by signing in, is not a person."),
    "operator": ("operator", "The operator cannot decide for the account."),
}


def require_person(actor: Actor, *, account_id: UUID) -> datetime:
    """Return when the person signed in. Raise PersonRequired unless a person's own browser session acts.

    Such a session was opened with an emailed code or link, and is presented as the cookie from our own origin. The
    refusal is in the audit list of the real account `account_id`, which the request is about.
    """
    if actor.signed_in_at is None:
        reason, detail = _NO_PERSON[actor.type]
        raise PersonRequired(detail, reason=reason, audited_for=account_id)
    return actor.signed_in_at


def require_fresh_person(actor: Actor, *, account_id: UUID) -> None:
    """Raise PersonRequired unless a person acts, FreshSignInRequired if they signed in before FRESH_FOR."""
    if require_person(actor, account_id=account_id) < clock.now() - FRESH_FOR:
        max_age_s = int(FRESH_FOR.total_seconds())
        # RFC 9470, 3.
        challenge = f'Bearer realm="builders", error="insufficient_user_authentication", max_age={max_age_s}'
        raise FreshSignInRequired(
            f"This needs a session that was opened in the last {max_age_s // 60} minutes.",
            headers={"WWW-Authenticate": challenge},
            audited_for=account_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """A session in which an operator is signed in as the account, by a login-as grant."""

    grant_id: Annotated[UUID, doc("Identifier of the login-as grant.")]
    operator: Annotated[str, doc("Name of the vendor's employee.")]
    reason: Annotated[str, doc("The reason that support stated.")]
    may_write: Annotated[bool, doc("Whether the session may change data.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller."""

    account_id: UUID  # owns the rows; with a test key the sandbox account
    live_account_id: UUID  # the real account, also with a test key
    mode: Literal["live", "test"]
    method: Literal["api_key", "jwt", "cookie", "oauth"]
    scopes: frozenset[str]  # with the scopes that they imply
    key_id: UUID | None  # of the key or the connection
    session_id: UUID | None = None  # None with a key, and with a token of another issuer
    expires_at: datetime | None = None
    impersonation: Impersonation | None = None
    signed_in_at: datetime | None = None  # as of Actor
    mandate: Mandate | None = None  # None: the scopes alone limit it
    client_name: str | None = None  # of a connection

    @property
    def is_live(self) -> bool:
        """Whether the caller works on the real account, not on its sandbox."""
        return self.mode == "live"

    @property
    def credential_id(self) -> UUID:
        """Return the id of the key, connection or session; of the account for a token of another issuer."""
        return self.key_id or self.session_id or self.live_account_id

    @property
    def queue(self) -> Hashable:
        """Return whose other requests it waits for: a person does not wait for the programs of the account."""
        return self.live_account_id if self.signed_in_at is None else ("person", self.live_account_id)

    @property
    def actor(self) -> Actor:
        """Return who acts, for the audit log."""
        if self.impersonation is not None:
            return Actor(type="support", id=self.impersonation.grant_id, label=self.impersonation.operator)
        if self.key_id is not None and self.client_name is not None:
            return Actor(type="agent", id=self.key_id, label=self.client_name)
        if self.key_id is not None:
            return Actor(type="key", id=self.key_id)
        return Actor(type="user", id=self.session_id, signed_in_at=self.signed_in_at)

"""A request as a receiver gets it: one way to make it, for the sender and for who only wants to see it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from builders.kit.process.secret_keys import Keyring
from builders.webhooks import sealing, signing


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A signed request. The HTTP client adds what is the connection's: Host, User-Agent, Content-Length."""

    webhook_id: UUID
    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: str = field(repr=False)


class Receiver(Protocol):
    """Where a request goes, and what signs it: a claim, or a destination that is only shown what it would get."""

    @property
    def account_id(self) -> UUID:
        """Whose destination it is."""

    @property
    def destination_id(self) -> UUID:
        """The destination."""

    @property
    def url(self) -> str:
        """Where it goes."""

    @property
    def secret(self) -> bytes:
        """Sealed."""

    @property
    def old_secret(self) -> bytes | None:
        """Sealed; signs too. None when its time is over."""


def render(
    keyring: Keyring, receiver: Receiver, *, event_id: UUID, body: str, n: int, test: bool = False, now: datetime
) -> Rendered:
    """The n-th request for an event, signed as of now. Raises Unsealable."""
    headers = signing.headers(
        _keys(keyring, receiver), event_id=event_id, body=body.encode(), n=n, test=test, now=now
    )
    return Rendered(
        webhook_id=receiver.destination_id, method="POST", url=receiver.url, headers=headers, body=body
    )


def _keys(keyring: Keyring, receiver: Receiver) -> list[bytes]:
    owner = {"account_id": receiver.account_id, "destination_id": receiver.destination_id}
    sealed = [each for each in (receiver.secret, receiver.old_secret) if each is not None]
    return [sealing.key(sealing.unseal(keyring, each, **owner)) for each in sealed]

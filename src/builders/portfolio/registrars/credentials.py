"""Credentials of registrars: stored sealed, and shown by their last characters only."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from pydantic_core import from_json, to_json

from builders.kit.db import account_tables
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import ids
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import CredentialHint, Profile
from builders.portfolio.registrars.store import connections as store

PURPOSE = "portfolio/registrar credentials"
_SHOWN, _MIN_SHOWN = 4, 12  # characters that a hint shows, and of a secret that is long enough for one
_RESEAL_BATCH = 200  # connections per transaction


def seal(keyring: Keyring, credentials: Mapping[str, str], *, account_id: UUID, connection_id: UUID) -> bytes:
    """Return the credentials encrypted for this connection alone."""
    return keyring.seal(PURPOSE, to_json(dict(credentials)), context=_context(account_id, connection_id))


def unseal(keyring: Keyring, sealed: bytes, *, account_id: UUID, connection_id: UUID) -> dict[str, str]:
    """Return the decrypted credentials. Raise RegistrarFailed when no secret key of the service opens them."""
    try:
        text = keyring.unseal(PURPOSE, sealed, context=_context(account_id, connection_id))
    except Unsealable:
        hint = "The service cannot decrypt these credentials: enter all of them again."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=hint) from None
    found: dict[str, str] = from_json(text)
    return found


def make_hints(
    profile: Profile,
    *,
    before: Sequence[CredentialHint],
    old: Mapping[str, str],
    new: Mapping[str, str],
    now: datetime,
) -> Sequence[CredentialHint]:
    """Return how each of the new credentials is shown; an unchanged one keeps its time."""
    times = {each.name: each.updated_at for each in before}
    return [
        CredentialHint(
            name=field.name,
            last4=None if field.is_secret and len(new[field.name]) < _MIN_SHOWN else new[field.name][-_SHOWN:],
            updated_at=times.get(field.name, now) if old.get(field.name) == new[field.name] else now,
        )
        for field in profile.credential_fields
        if field.name in new
    ]


async def reseal_credentials(database: Database, *, keyring: Keyring) -> Resealed:
    """Seal all credentials under the first secret key, in batches. Repeatable; keeps concurrent changes.

    Those that no secret key unseals are lost.
    """
    renewed, lost = 0, 0
    after: tuple[UUID, UUID] | None = (ids.NIL, ids.NIL)
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale_credentials(
                conn,
                header=keyring.seal_header,
                after_account=after[0],
                after_id=after[1],
                limit=_RESEAL_BATCH,
            )
            for credential in batch:
                context = _context(credential.account_id, credential.id)
                try:
                    text = keyring.unseal(PURPOSE, credential.credentials, context=context)
                except Unsealable:
                    lost += 1
                    continue
                again = keyring.seal(PURPOSE, text, context=context)
                renewed += await store.replace_credentials(
                    conn,
                    account_id=credential.account_id,
                    id=credential.id,
                    before=credential.credentials,
                    after=again,
                )
        after = (batch[-1].account_id, batch[-1].id) if batch else None
    return Resealed(renewed=renewed, lost=lost)


def _context(account_id: UUID, connection_id: UUID) -> bytes:
    return account_id.bytes + connection_id.bytes


account_tables.declare_sealed(
    "portfolio_registrars_connections", "credentials", purpose=PURPOSE, context=_context, of=("account_id", "id")
)

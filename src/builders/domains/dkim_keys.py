"""The keys that sign mail of domains (DKIM, RFC 6376): made here, published by whoever runs the domain's DNS.

A domain has a key of its own, so that a lost one affects no other domain. A new key signs as soon as DNS has its
record. The one before it stays valid for a week, for messages that are still on their way; then it is deleted.
"""

import asyncio
from base64 import b64encode
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from builders.aliases import lookups
from builders.aliases.records import LIVE
from builders.domains import store, txt_records
from builders.domains.records import DkimKey
from builders.domains.verification import Dns
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.process.settings import Settings
from builders.kit.values import clock

KEY_BITS = 2048  # RFC 8301, 3.2
KEPT = timedelta(days=7)  # after a newer key was published
CHECK_EACH = timedelta(days=1)  # of a published key
CHECK_SOON = timedelta(minutes=10)  # of one that DNS does not have yet, in its first day; later each hour
CHECK_LATER = timedelta(hours=1)
CHECK_BATCH = 50
RESEAL_BATCH = 200
_PURPOSE = "domains/dkim keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that signs."""

    selector: str
    pem: str = field(repr=False)


async def find_signing_key(conn: Conn, *, keyring: Keyring, domain: str) -> SigningKey | None:
    """Return the key that signs mail of a domain (A-label); None while DNS has none. Raise Unsealable."""
    found = await store.find_signing_key(conn, domain=domain)
    if found is None:
        return None
    pem = keyring.unseal(_PURPOSE, found.private_key, context=_context(domain, found.selector))
    return SigningKey(selector=found.selector, pem=pem.decode())


async def make(conn: Conn, *, keyring: Keyring, domains: Collection[str]) -> None:
    """Make a key for each of the domains (A-labels), one a day at most; it signs when DNS has its record."""
    now = clock.now()
    selector = f"b{now:%Y%m%d}"
    for domain in domains:
        private, public = _generate()
        sealed = keyring.seal(_PURPOSE, private, context=_context(domain, selector))
        await store.add_key(conn, domain=domain, selector=selector, private_key=sealed, public_key=public, now=now)
    await _check_held_now(conn, domains, now)


async def list_keys(conn: Conn, *, domains: Collection[str]) -> Sequence[DkimKey]:
    """Return the keys of domains (A-labels), by domain, the newest first."""
    return await store.list_keys(conn, domains=domains)


async def check_due(database: Database, *, settings: Settings) -> None:
    """Look for the records of the keys that are due; delete keys that a newer one replaced a week ago."""
    dns, due = Dns(settings), CHECK_BATCH
    while due == CHECK_BATCH:
        now = clock.now()
        async with database.transaction() as conn:
            await store.delete_replaced_keys(conn, before=now - KEPT)
            keys = await _claim_due(conn, now)
        due = len(keys)
        found = await asyncio.gather(*(dns.texts(each.name) for each in keys))
        async with database.transaction() as conn:
            changed = []
            for key, texts in zip(keys, found, strict=True):
                if texts is not None:
                    is_published = key.public_key in map(txt_records.dkim_key, texts)
                    await _record(conn, key, is_published=is_published, now=now)
                    changed += [key.domain] if is_published != (key.published_at is not None) else []
            await _check_held_now(conn, changed, now)


async def _claim_due(conn: Conn, now: datetime) -> Sequence[DkimKey]:
    found = sorted(await store.list_due_keys(conn, now=now, limit=CHECK_BATCH))
    if not found:
        return []
    domains, selectors = zip(*found, strict=True)
    return await store.claim_keys(
        conn, domains=domains, selectors=selectors, now=now, next_check_at=now + CHECK_LATER
    )


async def _check_held_now(conn: Conn, domains: Collection[str], now: datetime) -> None:
    """Let the holders of domains see the new state of their keys at once, and not at the next check of the day."""
    if held := sorted(await store.list_holders(conn, domains=domains)):
        account_ids, domain_ids = zip(*held, strict=True)
        await store.check_now(conn, account_ids=account_ids, ids=domain_ids, now=now)


async def _record(conn: Conn, key: DkimKey, *, is_published: bool, now: datetime) -> None:
    is_new = now - key.created_at < timedelta(days=1)
    later = CHECK_EACH if is_published else CHECK_SOON if is_new else CHECK_LATER
    await store.record_key(
        conn,
        domain=key.domain,
        selector=key.selector,
        is_published=is_published,
        now=now,
        next_check_at=now + later,
    )


async def reseal(database: Database, *, keyring: Keyring) -> Resealed:
    """Seal the private keys under the first secret key, in batches. Repeatable; keeps concurrent changes."""
    done: list[bool | None] = []
    after: tuple[str, str] | None = ("", "")
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale_keys(
                conn,
                header=keyring.seal_header,
                after_domain=after[0],
                after_selector=after[1],
                limit=RESEAL_BATCH,
            )
            done += [await _reseal(conn, keyring, each) for each in batch]
        after = (batch[-1].domain, batch[-1].selector) if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _reseal(conn: Conn, keyring: Keyring, key: DkimKey) -> bool | None:
    """Return whether the key was sealed again; None when its secret is missing."""
    context = _context(key.domain, key.selector)
    try:
        private = keyring.unseal(_PURPOSE, key.private_key, context=context)
    except Unsealable:
        return None
    return await store.replace_private_key(
        conn,
        domain=key.domain,
        selector=key.selector,
        before=key.private_key,
        after=keyring.seal(_PURPOSE, private, context=context),
    )


def public_key_of(key: RSAPrivateKey) -> str:
    """Return the public key as in a record."""
    return b64encode(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def _generate() -> tuple[bytes, str]:
    """Return a private key as PEM, and its public key for a record."""
    key = generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), public_key_of(key)


def _context(domain: str, selector: str) -> bytes:
    return f"{selector}._domainkey.{domain}".encode()


async def erase(conn: Conn, *, account_id: UUID) -> int:
    """End what an account that is erased holds, with the signing keys of its own domains; return the number."""
    held = list[str]()
    count = 0
    for realm, domain, is_own in await store.list_unreleased(conn, account_id=account_id):
        if await store.delete_holder(conn, realm=realm, domain=domain, account_id=account_id):
            count += 1
            if realm == LIVE:
                await lookups.let_domain_go(conn, account_id=account_id, domain=domain)
                held += [domain] if is_own else []
    await store.delete_keys(conn, domains=held)
    return count

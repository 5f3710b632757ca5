"""Names and aliases of the tests, created through the public interface of aliases."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from builders.aliases import billing, claims, loops
from builders.aliases.records import LIVE, Alias, AliasChange, AliasName, AliasSpec, Name, PriceInterval
from builders.aliases.rules import validate_local_part
from builders.forwarding import export
from builders.kit.db import batches
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from tests.cast import Client, Person
from tests.profile.make import ProfileWorker, text

ALIASES, DESTINATIONS = "/v1/aliases", "/v1/aliases/destinations"
RESEND, CONFIRM = f"{DESTINATIONS}/resend", f"{DESTINATIONS}/confirm"
QUARANTINE = timedelta(days=90)
Json = dict[str, Any]
PROGRAM = {"Accept": "application/json"}
_LINK = re.compile(rf"https?://\S+{CONFIRM}\?token=([\w-]+)")


def fresh(label: str = "harbour") -> str:
    """Return a domain that no other test uses; the registry does not need a catalog."""
    return f"{label}-{ids.new().hex[16:]}.example"


def wanted(local_part: str, domain: str) -> AliasName:
    """Return a name to check or to reserve."""
    result = validate_local_part(local_part, domain=domain)
    assert result.is_ok, result.message
    return AliasName(domain=domain, key=result.key, skeleton=result.skeleton, alias_id=ids.new())


FREE = Money.of("0.00", "USD")  # not billed: a name that is claimed again continues no paid period


def spec(local_part: str, domain: str, *destinations: str, **members: Any) -> AliasSpec:
    """Return an alias to create, by default in the manifest `acme-mail` with the local part as its key."""
    name = wanted(local_part, domain)
    given: dict[str, Any] = {
        "enabled": True,
        "note": None,
        "labels": {},
        "manifest": "acme-mail",
        "manifest_key": local_part,
        "price": Money.of("12.00", "USD"),
        "interval": PriceInterval.YEAR,
        **members,
    }
    return AliasSpec(
        id=ids.new(),
        domain=domain,
        local_part=local_part,
        key=name.key,
        skeleton=name.skeleton,
        destinations=destinations or ("ada@example.net",),
        **given,
    )


def change(alias: Alias, **members: Any) -> AliasChange:
    """Return a change of the given members of an alias."""
    given: dict[str, Any] = {
        "version": alias.version,
        "destinations": alias.destinations,
        "enabled": alias.enabled,
        "note": alias.note,
        "labels": alias.labels,
        "manifest": alias.manifest,
        "manifest_key": alias.manifest_key,
        **members,
    }
    return AliasChange(id=alias.id, **given)


class Owner:
    """An account that claims and releases names, each call in its own transaction."""

    def __init__(self, database: Database, *, realm: UUID = LIVE, account_id: UUID | None = None) -> None:
        self.database, self.realm, self.account_id = database, realm, account_id or ids.new()

    @classmethod
    def of(cls, database: Database, person: Person) -> Self:
        """Return the live account of a person."""
        return cls(database, account_id=person.account.id)

    @classmethod
    def of_sandbox(cls, database: Database, person: Person) -> Self:
        """Return the sandbox account of a person."""
        sandbox = person.account.sandbox_id
        return cls(database, realm=sandbox, account_id=sandbox)

    async def claim(self, *specs: AliasSpec) -> Sequence[UUID]:
        """Claim names, all or none."""
        async with self.database.transaction() as conn:
            await loops.lock_routes(conn, account_id=self.account_id)
            await claims.create_aliases(conn, realm=self.realm, account_id=self.account_id, specs=specs)
        return [each.id for each in specs]

    async def claim_one(self, local_part: str, domain: str, *destinations: str, **members: Any) -> UUID:
        """Claim a name; return the id of its alias."""
        return (await self.claim(spec(local_part, domain, *destinations, **members)))[0]

    async def release_reservations(self, *names: Name) -> None:
        """Release reservations."""
        async with self.database.transaction() as conn:
            await claims.release_reservations(conn, realm=self.realm, account_id=self.account_id, names=names)

    async def reserve(self, *wanted: AliasName, for_: timedelta = timedelta(minutes=15)) -> None:
        """Reserve names, all or none."""
        async with self.database.transaction() as conn:
            until = clock.now() + for_
            await claims.reserve_names(
                conn, realm=self.realm, account_id=self.account_id, wanted=wanted, until=until
            )

    async def update(self, *changes: AliasChange) -> None:
        """Change aliases, all or none."""
        async with self.database.transaction() as conn:
            await loops.lock_routes(conn, account_id=self.account_id)
            await claims.update_aliases(conn, account_id=self.account_id, changes=changes)

    async def release(self, *gone: Alias, quarantine: timedelta = QUARANTINE) -> None:
        """Release aliases, all or none."""
        async with self.database.transaction() as conn:
            versions = {alias.id: alias.version for alias in gone}
            await claims.release_aliases(
                conn, realm=self.realm, account_id=self.account_id, versions=versions, quarantine=quarantine
            )
            await billing.withdraw_charges(conn, account_id=self.account_id, alias_ids=versions)

    async def aliases(self, manifest: str = "acme-mail") -> dict[str, Alias]:
        """Return the aliases of a manifest, by local part."""
        async with self.database.connection() as conn:
            found = await claims.list_aliases(conn, account_id=self.account_id, manifest=manifest)
        return {alias.local_part: alias for alias in found}

    async def unavailable(self, *wanted: AliasName) -> dict[str, str]:
        """Return the reasons why names are not available to this account, by key; available ones are absent."""
        async with self.database.connection() as conn:
            found = await claims.check_availability(
                conn, realm=self.realm, wanted=wanted, account_id=self.account_id
            )
        return {name.key: each.reason.value for name, each in found.items()}


async def prune(database: Database) -> None:
    """Delete expired names, as the job does: in batches, with those that other tests left."""
    await batches.repeat(database, claims.prune_names, size=claims.PRUNE_BATCH)


async def prune_aliases(database: Database) -> None:
    """Delete the aliases whose history has ended, as the job does."""
    await batches.repeat(database, claims.prune_aliases, size=claims.PRUNE_BATCH)


async def registry(conn: Conn, domain: str) -> dict[Name, str]:
    """Return every name of the domain in any realm with its state; check the numbers of the skeletons."""
    rows = await (
        await conn.execute("SELECT realm, skeleton, key, state FROM aliases_names WHERE domain = %s", [domain])
    ).fetchall()
    skeletons = await (
        await conn.execute(
            "SELECT realm, skeleton, names FROM aliases_skeletons WHERE domain = %s AND names > 0", [domain]
        )
    ).fetchall()
    assert {(row[0], row[1]): row[2] for row in skeletons} == Counter((row[0], row[1]) for row in rows)
    return {Name(domain, row[2]): row[3] for row in rows}


class AliasWorker(ProfileWorker):
    """Reads the tokens of confirmation links."""

    async def tokens(self, address: str) -> list[str]:
        """Return the tokens of the links that the address received, oldest first."""
        found = [_LINK.search(text(each)) for each in await self.list_emails(address)]
        return [each[1] for each in found if each is not None]


def fresh_address(name: str = "reader") -> str:
    """Return an address that no other test uses."""
    return f"{name}-{ids.new().hex}@example.net"


async def ask_recipient(owner: Owner, worker: AliasWorker, domain: str) -> tuple[str, str]:
    """Claim a name with a new destination; return its address, and the token of the link that it received."""
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    return email, await worker.token(email)


async def published(conn: Conn, account_id: UUID, name: str = "alias.%") -> list[tuple[str, Json]]:
    """Return the names and data of the account's events, in sequence."""
    cursor = await conn.execute(
        "SELECT name, data::jsonb FROM kit_outbox WHERE account_id = %s AND name LIKE %s ORDER BY id",
        [account_id, name],
    )
    return [(row[0], row[1]) for row in await cursor.fetchall()]


async def wait_for_horizon(database: Database) -> None:
    """Wait until every transaction of the server that began before now has ended, also those of other tests."""
    async with database.connection() as conn:
        row = await (await conn.execute("SELECT pg_current_xact_id()::text::bigint")).fetchone()
        while row is not None and await export.get_horizon(conn, since=0) <= row[0]:
            pass


async def destinations(client: Client) -> dict[str, Json]:
    """Return the destinations of an account, by address."""
    answer = await client.get(DESTINATIONS)
    assert answer.status_code == 200, answer.text
    return {each["email"]: each for each in answer.json()["items"]}


async def verified(client: Client, email: str) -> bool:
    """Return whether the recipient has confirmed."""
    return bool((await destinations(client))[email]["verified"])

"""Domains for tests, made by the public interfaces."""

import json
from typing import Any

from builders import worker
from builders.aliases import claims
from builders.app import Service
from builders.domains import account_domains, verification
from builders.domains.records import AccountDomain, DomainSource
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.aliases.make import spec
from tests.cast import Client, Person
from tests.domains.nameserver import Nameserver

PATH = "/v1/domains"
MX = "mx1.builders.example"
INCLUDE = "spf.builders.example"


def settings_of(service: Service) -> Settings:
    """Return the present settings of the service under test."""
    found: Settings = service.api.state.settings
    return found


async def add(client: Client, domain: str, **members: object) -> dict[str, Any]:
    """Add a pending domain."""
    answer = await client.post(PATH, json={"domain": domain, **members})
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    return added


def prove(dns: Nameserver, added: dict[str, Any]) -> None:
    """Set the record of the proof."""
    dns.txt(added["verification"]["name"], added["verification"]["value"])


async def make_live(client: Client, dns: Nameserver, domain: str, **members: object) -> dict[str, Any]:
    """Add a domain and prove it."""
    added = await add(client, domain, **members)
    prove(dns, added)
    answer = await client.post(f"{PATH}/{added['id']}/verify")
    assert answer.json()["status"] == "live", answer.text
    live: dict[str, Any] = answer.json()
    return live


async def assign(
    service: Service, person: Person, domain: str, source: DomainSource = DomainSource.LEASED
) -> AccountDomain:
    """Assign a domain to a person, as the operator does."""
    state = service.api.state
    async with state.database.transaction() as conn:
        return await account_domains.assign(
            conn, keyring=state.keyring, account_id=person.account.id, domain=domain, source=source
        )


async def work(database: Database, settings: Settings) -> None:
    """Dispatch the events and run the jobs that follow."""
    assert worker.JOBS  # which declares them
    async with database.transaction() as conn:
        while await dispatcher.dispatch(conn):
            pass
    await queue.run_pending(database, settings)


async def published(conn: Conn, person: Person, name: str) -> list[dict[str, Any]]:
    """Return the published events of this name of the account, oldest first."""
    cursor = await conn.execute(
        "SELECT data FROM kit_outbox WHERE account_id = %s AND name = %s ORDER BY id", (person.account.id, name)
    )
    return [json.loads(row[0]) for row in await cursor.fetchall()]


def good_records(dns: Nameserver, domain: str) -> None:
    """Set all records that mail needs correctly, without the key."""
    dns.mx(domain, f"10 {MX}.")
    dns.txt(domain, "google-site-verification=abc", f"v=spf1 include:{INCLUDE} ~all")
    dns.txt(f"_dmarc.{domain}", "v=DMARC1; p=none")


async def check_due(service: Service, **options: int) -> None:
    """Check the domains that are due, as the worker does each minute."""
    await verification.check_due(service.api.state.database, settings=settings_of(service), **options)


async def claim(conn: Conn, person: Person, address: str) -> None:
    """Claim a name for the person."""
    local_part, _, domain = address.partition("@")
    specs = [spec(local_part, domain, manifest=None, manifest_key=None)]
    await claims.create_aliases(conn, account_id=person.account.id, specs=specs)

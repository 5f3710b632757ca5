"""Catalog domains, manifests, promotions and invoices for tests, created through public interfaces."""

import csv
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from builders.aliases import lookups
from builders.catalog.catalog_file import loader
from builders.invoices import invoices, payments
from builders.invoices.records import Invoice
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import ids
from builders.plans.promotion import run, start
from builders.plans.records import Promotion, PromotionRequest
from builders.plans.resources.kinds import RunParameters
from builders.plans.schemas.promotions import SandboxPromoteRequest
from tests.cast import Client, Person

PLAN, PROMOTE, STATUS = "/v1/sandbox/plan", "/v1/sandbox/promote", "/v1/sandbox/status"
Json = dict[str, Any]


def unique_domain(label: str = "harbour") -> str:
    """Return a domain that no other test uses, since tests share one catalog."""
    return f"{label}-{ids.new().hex[16:]}.example"


class Domains:
    """A loader of catalog domains."""

    def __init__(self, database: Database, *, folder: Path, assets: Path) -> None:
        self._database, self._folder, self._assets = database, folder, assets

    async def __call__(self, domain: str | None = None, **columns: object) -> str:
        """Load a domain, by default a new one at 12 USD a year; return its name as written."""
        row = {"domain": domain or unique_domain(), "price_amount": "12.00", **columns}
        path = self._folder / f"{ids.new()}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
        report = await loader.load(self._database, path=path, assets=self._assets)
        assert report.is_written, report.errors
        return str(row["domain"])


def make_addresses(count: int, domain: str) -> list[str]:
    """Return a number of different names on a domain."""
    return [f"name{at:04}@{domain}" for at in range(count)]


def alias(address: str, *destinations: str, key: str | None = None, **members: object) -> Json:
    """Return an alias of a manifest; by default the local part is its key."""
    local_part = address.rpartition("@")[0]
    return {
        "key": key or local_part,
        "address": address,
        "destinations": list(destinations or ("ada@example.net",)),
        **members,
    }


def manifest(aliases: Sequence[Json], *, name: str = "acme-mail", **members: object) -> Json:
    """Return a manifest of aliases."""
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": name},
        "resources": {"aliases": list(aliases)},
        **members,
    }


def full_manifest(name: str = "acme-mail", **members: Any) -> Json:
    """Return a manifest of all kinds: `projects`, `domains`, `webhooks` and `aliases` are its resources."""
    kinds = ("projects", "domains", "webhooks", "aliases")
    resources = {kind: members.pop(kind) for kind in kinds if kind in members}
    return {**manifest([], name=name, **members), "resources": resources}


def webhook(key: str, **members: Any) -> Json:
    """Return a webhook destination of a manifest, with an IP address to avoid DNS."""
    url = f"https://93.184.215.14/{key}"
    return {"key": key, "label": key, "url": url, "events": ["alias.*"], **members}


async def plan_manifest(client: Client, body: Json) -> Json:
    """Make a plan of a manifest."""
    answer = await client.post(PLAN, json=body)
    assert answer.status_code == 200, answer.text
    planned: Json = answer.json()
    return planned


async def apply_manifest(person: Person, body: Json) -> Json:
    """Plan and promote a manifest; return the promotion, which succeeded."""
    promotion = await promote(person, await plan_manifest(person, body))
    assert promotion["status"] == "succeeded", promotion
    return promotion


async def plan(client: Client, *aliases: Json, **members: Any) -> Json:
    """Make a plan of a manifest of these aliases."""
    answer = await client.post(PLAN, json=manifest(aliases, **members))
    assert answer.status_code == 200, answer.text
    planned: Json = answer.json()
    return planned


def promotion_request(planned: Json, **members: object) -> Json:
    """Return the request that promotes a plan."""
    confirmed = {"confirm_deletes": planned["confirm_deletes"]} if planned["confirm_deletes"] else {}
    return {"plan_id": planned["id"], "digest": planned["digest"], **confirmed, **members}


async def promote(person: Person, planned: Json, **members: object) -> Json:
    """Promote a plan; return the promotion with any status."""
    answer = await person.post(PROMOTE, json=promotion_request(planned, **members))
    assert answer.status_code == 200, answer.text
    promotion: Json = answer.json()
    return await ended(person, promotion)


async def ended(person: Person, promotion: Json) -> Json:
    """Run the job of a large promotion; return the promotion."""
    if promotion["status"] != "running":
        return promotion
    state = person.service.api.state
    await queue.run_pending(state.database, state.settings)
    answer = await person.get(f"/v1/sandbox/promotions/{promotion['id']}")
    read: Json = answer.json()
    return read


async def apply(person: Person, *aliases: Json, **members: Any) -> Json:
    """Plan and promote aliases; return the promotion, which succeeded."""
    promotion = await promote(person, await plan(person, *aliases, **members))
    assert promotion["status"] == "succeeded", promotion
    return promotion


def list_actions(planned: Json) -> list[tuple[str, str]]:
    """Return address and action of a plan's actions."""
    return [(each["address"], each["action"]) for each in planned["actions"]]


def findings(found: Sequence[Json]) -> set[tuple[str, str]]:
    """Return address and code of errors, warnings or changes."""
    return {(each["address"], each["code"]) for each in found}


def step_statuses(promotion: Json) -> dict[str, str]:
    """Return the status of each step by address."""
    return {each["address"]: each["status"] for each in promotion["steps"]}


async def change_aliases(conn: Conn, person: Person, *addresses: str) -> None:
    """Change names as their owner can during a promotion."""
    await conn.execute(
        "UPDATE aliases SET note = 'altered', version = version + 1"
        " WHERE account_id = %s AND status <> 'deleted' AND local_part || '@' || domain = ANY(%s)",
        (person.account.id, list(addresses)),
    )


async def suspend_aliases(conn: Conn, person: Person, *addresses: str) -> None:
    """Suspend names in the database, as the operator does."""
    cursor = await conn.execute(
        "UPDATE aliases SET status = 'suspended', version = version + 1"
        " WHERE account_id = %s AND status <> 'deleted' AND local_part || '@' || domain = ANY(%s) RETURNING id",
        (person.account.id, list(addresses)),
    )
    alias_ids = [each for (each,) in await cursor.fetchall()]
    await lookups.write_names(conn, account_id=person.account.id, alias_ids=alias_ids)


async def list_events(conn: Conn, person: Person) -> list[tuple[str, Json]]:
    """Return name and data of the published events of aliases and promotions, in order."""
    cursor = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name ~ '^(alias|promotion)' ORDER BY id",
        (person.account.id,),
    )
    return [(row[0], json.loads(row[1])) for row in await cursor.fetchall()]


async def start_promotion(database: Database, person: Person, planned: Json, **members: object) -> UUID:
    """Start a promotion without running it, as if its process stopped; return its id."""
    promotion_id, _ = await start.start(
        database,
        outbound=person.service.api.state.outbound,
        account_id=person.account.id,
        request=promotion_of(promotion_request(planned, **members)),
        actor=OPERATOR,
        parameters=parameters(person),
    )
    return promotion_id


async def promote_over(database: Database, person: Person, body: Json) -> Promotion:
    """Promote over a given database."""
    return await run.promote(
        database,
        account_id=person.account.id,
        request=promotion_of(body),
        actor=OPERATOR,
        outbound=person.service.api.state.outbound,
        parameters=parameters(person),
    )


def parameters(person: Person) -> RunParameters:
    """Return the run parameters of the service."""
    state = person.service.api.state
    return RunParameters.of(state.settings, state.keyring)


def promotion_of(body: Json) -> PromotionRequest:
    """Return the request of a body."""
    request = SandboxPromoteRequest.model_validate(body)
    return request.request(ids.parse(request.plan_id))


AFTER_COOLING_OFF = timedelta(hours=25)
YEAR = timedelta(days=366)


async def list_invoices(database: Database, person: Person) -> list[Invoice]:
    """Return the account's invoices with their lines, oldest first."""
    async with database.connection() as conn:
        found = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=100)
        return [
            await invoices.get_invoice(conn, account_id=person.account.id, invoice_id=each.id)
            for each in reversed(found)
        ]


async def pay_invoice(database: Database, person: Person, invoice: Invoice) -> None:
    async with database.transaction() as conn:
        await payments.pay(
            conn, account_id=person.account.id, invoice_id=invoice.id, method="transfer", reference="1"
        )


async def get_alias(person: Person, promotion: Json) -> Json:
    """Return the alias that the promotion's only step created."""
    (step,) = promotion["steps"]
    answer = await person.get(f"/v1/aliases/{step['resource_id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found

"""Catalog domains, manifests and promotions for the tests of the sandbox, all made through doors."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from builders.catalog import service as catalog
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.kit.jobs import queue
from builders.kit.values import ids
from builders.sandbox import service as sandbox
from builders.sandbox.promotion import start
from builders.sandbox.records import Promotion, PromotionRequest
from builders.sandbox.schemas.promotions import SandboxPromoteRequest
from builders.sandbox.service import RunParameters
from tests.cast import Client, Person

PLAN, PROMOTE, STATUS = "/v1/sandbox/plan", "/v1/sandbox/promote", "/v1/sandbox/status"
Json = dict[str, Any]


def fresh(label: str = "harbour") -> str:
    """A domain that no other test has: tests of a run share one catalog."""
    return f"{label}-{ids.new().hex[16:]}.example"


class Domains:
    """Puts domains into the catalog."""

    def __init__(self, database: Database, *, folder: Path, assets: Path) -> None:
        self._database, self._folder, self._assets = database, folder, assets

    async def __call__(self, domain: str | None = None, **columns: object) -> str:
        """Loads one domain, a fresh one at 12 USD a year unless said otherwise; its name as written."""
        row = {"domain": domain or fresh(), "price_amount": "12.00", **columns}
        path = self._folder / f"{ids.new()}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
        report = await catalog.load(self._database, path=path, assets=self._assets)
        assert report.is_written, report.errors
        return str(row["domain"])


def crew(count: int, domain: str) -> list[str]:
    """So many different names on a domain."""
    return [f"crew{at:04}@{domain}" for at in range(count)]


def alias(address: str, *destinations: str, key: str | None = None, **members: object) -> Json:
    """An alias of a manifest; its key is the local part, unless said otherwise."""
    local_part = address.rpartition("@")[0]
    return {
        "key": key or local_part,
        "address": address,
        "destinations": list(destinations or ("ada@example.net",)),
        **members,
    }


def manifest(aliases: Sequence[Json], *, name: str = "acme-mail", **members: object) -> Json:
    """A manifest of aliases."""
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": name},
        "resources": {"aliases": list(aliases)},
        **members,
    }


def whole(name: str = "acme-mail", **members: Any) -> Json:
    """A manifest of any kinds: `projects`, `domains`, `webhooks` and `aliases` are its resources."""
    kinds = ("projects", "domains", "webhooks", "aliases")
    resources = {kind: members.pop(kind) for kind in kinds if kind in members}
    return {**manifest([], name=name, **members), "resources": resources}


def webhook(key: str, **members: Any) -> Json:
    """A webhook destination of a manifest; an address, so that nothing is looked up."""
    url = f"https://93.184.215.14/{key}"
    return {"key": key, "label": key, "url": url, "events": ["alias.*"], **members}


async def plan_of(client: Client, body: Json) -> Json:
    """A plan for a manifest."""
    answer = await client.post(PLAN, json=body)
    assert answer.status_code == 200, answer.text
    planned: Json = answer.json()
    return planned


async def apply_of(person: Person, body: Json) -> Json:
    """Plans and promotes a manifest; the promotion, which succeeded."""
    promotion = await promote(person, await plan_of(person, body))
    assert promotion["status"] == "succeeded", promotion
    return promotion


async def plan(client: Client, *aliases: Json, **members: Any) -> Json:
    """A plan for a manifest of these aliases."""
    answer = await client.post(PLAN, json=manifest(aliases, **members))
    assert answer.status_code == 200, answer.text
    planned: Json = answer.json()
    return planned


def order(planned: Json, **members: object) -> Json:
    """The request that promotes a plan as it was shown."""
    confirmed = {"confirm_deletes": planned["confirm_deletes"]} if planned["confirm_deletes"] else {}
    return {"plan_id": planned["id"], "digest": planned["digest"], **confirmed, **members}


async def promote(person: Person, planned: Json, **members: object) -> Json:
    """The promotion of a plan, whatever came of it."""
    answer = await person.post(PROMOTE, json=order(planned, **members))
    assert answer.status_code == 200, answer.text
    promotion: Json = answer.json()
    return await ended(person, promotion)


async def ended(person: Person, promotion: Json) -> Json:
    """The promotion when jobs have gone on with it, if it is a large one."""
    if promotion["status"] != "running":
        return promotion
    state = person.service.api.state
    await queue.run_pending(state.database, state.settings)
    answer = await person.get(f"/v1/sandbox/promotions/{promotion['id']}")
    read: Json = answer.json()
    return read


async def apply(person: Person, *aliases: Json, **members: Any) -> Json:
    """Plans and promotes; the promotion, which succeeded."""
    promotion = await promote(person, await plan(person, *aliases, **members))
    assert promotion["status"] == "succeeded", promotion
    return promotion


def actions(planned: Json) -> list[tuple[str, str]]:
    """What a plan does: address and action."""
    return [(each["address"], each["action"]) for each in planned["actions"]]


def findings(found: Sequence[Json]) -> set[tuple[str, str]]:
    """Address and code of errors, warnings, or what changed."""
    return {(each["address"], each["code"]) for each in found}


def steps(promotion: Json) -> dict[str, str]:
    """How each step of a promotion ended, by its address."""
    return {each["address"]: each["status"] for each in promotion["steps"]}


async def alter(conn: Conn, person: Person, *addresses: str) -> None:
    """What an owner can do to names without a manifest, while a promotion is under way."""
    await conn.execute(
        "UPDATE aliases SET note = 'altered', version = version + 1"
        " WHERE account_id = %s AND status <> 'deleted' AND local_part || '@' || domain = ANY(%s)",
        (person.account.id, list(addresses)),
    )


async def suspend(conn: Conn, person: Person, *addresses: str) -> None:
    """What the operator will do to names that are abused or not paid; no door does it yet."""
    await conn.execute(
        "UPDATE aliases SET status = 'suspended', version = version + 1"
        " WHERE account_id = %s AND status <> 'deleted' AND local_part || '@' || domain = ANY(%s)",
        (person.account.id, list(addresses)),
    )


async def events(conn: Conn, person: Person) -> list[tuple[str, Json]]:
    """What the account's aliases and promotions told, in order: name and data."""
    cursor = await conn.execute(
        "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name ~ '^(alias|promotion)' ORDER BY id",
        (person.account.id,),
    )
    return [(row[0], json.loads(row[1])) for row in await cursor.fetchall()]


async def begin(database: Database, person: Person, planned: Json, **members: object) -> UUID:
    """A promotion as it stands when its process dies at once: begun, its names held, nothing done yet. Its id."""
    promotion_id, _ = await start.start(
        database,
        outbound=person.service.api.state.outbound,
        account_id=person.account.id,
        request=_request(order(planned, **members)),
        actor=OPERATOR,
    )
    return promotion_id


async def run(database: Database, person: Person, body: Json) -> Promotion:
    """Promotes over a database of the test's own."""
    return await sandbox.promote(
        database,
        account_id=person.account.id,
        request=_request(body),
        actor=OPERATOR,
        outbound=person.service.api.state.outbound,
        parameters=parameters(person),
    )


def parameters(person: Person) -> RunParameters:
    """What the service promotes with."""
    state = person.service.api.state
    return RunParameters.of(state.settings, state.keyring)


def _request(body: Json) -> PromotionRequest:
    request = SandboxPromoteRequest.model_validate(body)
    return request.request(ids.parse(request.plan_id))

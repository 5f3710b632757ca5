"""Rehearsals: a manifest planned and promoted in the sandbox account, with injected failures."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.app import Service
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.plans import rehearsal
from builders.plans.records import OnError
from builders.plans.rehearsal import RehearsalRequest
from builders.plans.resources.kinds import RunParameters
from builders.plans.schemas.manifests import SandboxManifest
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver
from tests.plans.make import (
    Json,
    alias,
    apply,
    findings,
    list_actions,
    make_addresses,
    manifest,
    plan,
    step_statuses,
)
from tests.plans.simulations import SIMULATE, count_rows, list_errors, request_simulation, simulate
from tests.plans.test_scaling import single_connection
from tests.webhooks.make import create, deliveries, send_due
from tests.wire import counted
from tests.worker import Worker

__all__ = ["single_connection"]  # a fixture


async def rehearse(client: Client, *aliases: Json, of: Json | None = None, **members: Any) -> Json:
    """Rehearse a manifest of these aliases; `of` has further members of the manifest."""
    return await simulate(client, type="manifest", manifest=manifest(aliases, **(of or {})), **members)


async def status_of(client: Client) -> Json:
    """Return the contents of the sandbox account."""
    contents: Json = (await client.get("/v1/sandbox/status")).json()["sandbox"]
    return contents


async def test_a_rehearsal_shows_plan_steps_and_invoices(alice: Person, domain: str) -> None:
    found = await rehearse(alice, alias(f"ada@{domain}"), alias(f"eve@{domain}"))

    assert list_actions(found["plan"]) == [("alias.ada", "create"), ("alias.eve", "create")]
    assert (found["plan"]["status"], found["promotion"]["status"]) == ("ready", "succeeded")
    assert step_statuses(found["promotion"]) == {"alias.ada": "succeeded", "alias.eve": "succeeded"}
    assert found["promotion"]["summary"] == {"succeeded": 2}
    (invoice,) = found["invoices"]
    assert (invoice["id"], invoice["number"]) == (None, None)
    assert invoice["total"] == {"amount": "24.00", "currency": "USD"}
    assert [line["description"] for line in invoice["lines"]] == [f"ada@{domain}", f"eve@{domain}"]


async def test_nothing_is_stored_without_persist(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"grace@{domain}"))
    before = await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)
    found = await rehearse(alice, alias(f"ada@{domain}"))

    assert found["persisted"] is False
    assert (await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)) == before


async def test_a_persisted_rehearsal_changes_only_the_sandbox_account(
    alice: Person, bob: Person, conn: Conn, domain: str
) -> None:
    await alice.test.create_key()
    before = await count_rows(conn, alice.account.id)
    found = await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    again = await rehearse(alice.test, alias(f"ada@{domain}"), persist=True)

    assert (found["persisted"], await status_of(alice)) == (True, {"aliases": 1, "projects": 0, "webhooks": 0})
    assert found["invoices"][0]["number"].startswith("TEST-")
    assert list_actions(again["plan"]) == [("alias.ada", "no_op")]
    assert again["invoices"] == []
    assert await count_rows(conn, alice.account.id) == before
    # The live name stays free for everybody, and a live plan ignores the sandbox account.
    assert list_actions(await plan(alice.test, alias(f"ada@{domain}"))) == [("alias.ada", "create")]
    await apply(bob, alias(f"ada@{domain}"))
    assert (await rehearse(bob, alias(f"ada@{domain}")))["promotion"]["status"] == "succeeded"


async def test_an_injected_failure_stops_the_rest(alice: Person, domain: str) -> None:
    wanted = [alias(f"{name}@{domain}") for name in ("ada", "eve", "grace")]
    found = await rehearse(alice, *wanted, fail_at={"alias.eve": "taken"}, persist=True)

    assert found["promotion"]["status"] == "failed"
    assert step_statuses(found["promotion"]) == {
        "alias.ada": "skipped",
        "alias.eve": "failed",
        "alias.grace": "skipped",
    }
    (failed,) = [each for each in found["promotion"]["steps"] if each["status"] == "failed"]
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("taken", False)
    assert (await status_of(alice))["aliases"] == 0
    assert found["invoices"] == []


async def test_an_injected_failure_with_continue_executes_the_rest(alice: Person, domain: str) -> None:
    wanted = [alias(f"{name}@{domain}") for name in ("ada", "eve", "grace")]
    half = await rehearse(alice, *wanted, fail_at={"alias.eve": "held"}, on_error="continue", persist=True)
    rest = await rehearse(alice, *wanted, persist=True)

    assert half["promotion"]["status"] == "partial"
    assert step_statuses(half["promotion"]) == {
        "alias.ada": "succeeded",
        "alias.eve": "failed",
        "alias.grace": "succeeded",
    }
    assert len(half["invoices"][0]["lines"]) == 2
    assert list_actions(rest["plan"]) == [
        ("alias.ada", "no_op"),
        ("alias.eve", "create"),
        ("alias.grace", "no_op"),
    ]
    assert rest["promotion"]["status"] == "succeeded"


async def test_fail_at_refuses_unknown_addresses_and_no_ops(alice: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    wanted = manifest([alias(f"ada@{domain}"), alias(f"eve@{domain}")])
    answer = await request_simulation(
        alice, type="manifest", manifest=wanted, fail_at={"alias.evee": "taken", "alias.ada": "taken"}
    )

    assert list_errors(answer) == {
        ("body.fail_at.alias.evee", "fail_at_unknown"),
        ("body.fail_at.alias.ada", "fail_at_unknown"),
    }
    assert "'alias.eve'" in answer.json()["detail"][0]["msg"]


async def test_a_plan_with_errors_is_shown_and_not_executed(alice: Person, domain: str) -> None:
    found = await rehearse(
        alice, alias(f"postmaster@{domain}"), alias(f"ada@{domain}"), persist=True, fail_at={"alias.ada": "taken"}
    )

    assert findings(found["plan"]["errors"]) == {("alias.postmaster", "reserved")}
    assert (found["promotion"], found["persisted"], found["invoices"]) == (None, False, [])


async def test_pruning_is_rehearsed(alice: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    found = await rehearse(alice, of={"prune": True}, persist=True)

    assert list_actions(found["plan"]) == [("alias.ada", "delete")]
    assert (found["plan"]["confirm_deletes"], found["promotion"]["status"]) == (1, "succeeded")
    assert (await status_of(alice))["aliases"] == 0


async def test_events_of_a_persisted_rehearsal_reach_sandbox_webhooks(
    alice: Person, service: Service, conn: Conn, event_worker: Worker, domain: str, receiver: Receiver
) -> None:
    await create(alice.test, url=receiver.url, events=["*"])
    await create(alice, url=receiver.url, events=["*"])
    await event_worker.work()
    before = await count_rows(conn, alice.account.id)
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    await event_worker.work()
    await send_due(service, account_id=alice.account.sandbox_id)

    sent = {each["event"]: each for each in await deliveries(alice.test)}
    assert {"alias.created", "promotion.completed", "invoice.created"} <= sent.keys()
    assert not any(each["livemode"] for each in sent.values())
    assert await count_rows(conn, alice.account.id) == before


async def test_projects_and_webhooks_are_rehearsed_with_their_aliases(alice: Person, domain: str) -> None:
    wanted = manifest([alias(f"ada@{domain}")], project="shop")
    wanted["resources"]["projects"] = [{"key": "shop", "name": "Shop"}]
    wanted["resources"]["webhooks"] = [
        {
            "key": "hook",
            "label": "main",
            "url": "https://93.184.215.14/hooks",
            "enabled": True,
            "events": ["alias.*"],
            "signing_secret_ref": "generate",
        }
    ]
    failed = await simulate(
        alice,
        type="manifest",
        manifest=wanted,
        fail_at={"project.shop": "slug_taken"},
        on_error="continue",
        persist=True,
    )
    errors = {each["address"]: (each["error"] or {}).get("code") for each in failed["promotion"]["steps"]}
    assert errors == {"project.shop": "slug_taken", "webhook.hook": None, "alias.ada": "requirement_failed"}
    assert await status_of(alice) == {"aliases": 0, "projects": 0, "webhooks": 1}
    done = await simulate(alice, type="manifest", manifest=wanted, persist=True)

    assert done["promotion"]["status"] == "succeeded"
    assert "secret" not in str(done["promotion"])
    assert await status_of(alice) == {"aliases": 1, "projects": 1, "webhooks": 1}


async def test_the_number_of_statements_does_not_depend_on_the_number_of_names(
    alice: Person, service: Service, single_connection: Database, domain: str, tmp_path: Path
) -> None:
    counts: list[int] = []
    state = service.api.state
    for count in (1, 10, 1000):
        wanted = SandboxManifest.model_validate(manifest([alias(each) for each in make_addresses(count, domain)]))
        async with single_connection.connection() as conn:
            watched = counted(conn, tmp_path / "wire")
        with watched as sent:
            found = await rehearsal.rehearse(
                single_connection,
                outbound=state.outbound,
                account_id=alice.account.id,
                request=RehearsalRequest(
                    manifest=wanted.manifest(), fail_at={}, on_error=OnError.STOP, persist=False, actor=OPERATOR
                ),
                parameters=RunParameters.of(state.settings, state.keyring),
            )
        assert len(found.steps) == count
        counts += sent

    # Only the first request reads the sandbox account of the account.
    assert counts[1] == counts[2] < 50


@pytest.mark.system
async def test_two_thousand_names_are_rehearsed_in_one_request(alice: Person, domain: str) -> None:
    found = await rehearse(alice, *[alias(each) for each in make_addresses(2000, domain)])

    assert found["promotion"]["summary"] == {"succeeded": 2000}
    assert found["invoices"][0]["total"] == {"amount": "24000.00", "currency": "USD"}


async def test_an_invalid_manifest_is_reported_at_its_location(alice: Person, domain: str) -> None:
    wrong = manifest([alias(f"ada@{domain}", enabld=True)])
    answer = await request_simulation(alice, type="manifest", manifest=wrong)

    assert list_errors(answer) == {("body.manifest.resources.aliases.0.enabld", "unknown_field")}
    bad_code = await request_simulation(
        alice, type="manifest", manifest=manifest([]), fail_at={"alias.ada": "No code"}
    )
    assert list_errors(bad_code) == {("body.fail_at.alias.ada", "string_pattern_mismatch")}


async def test_a_manifest_of_more_than_a_megabyte_is_too_large(alice: Person) -> None:
    body = json.dumps({"type": "manifest", "manifest": manifest([])}) + " " * 1024 * 1024
    answer = await alice.post(SIMULATE, content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (413, "manifest_too_large")


async def test_bob_rehearses_in_his_own_sandbox_account(alice: Person, bob: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)

    assert (await status_of(bob))["aliases"] == 0
    assert list_actions((await rehearse(bob, alias(f"ada@{domain}")))["plan"]) == [("alias.ada", "create")]

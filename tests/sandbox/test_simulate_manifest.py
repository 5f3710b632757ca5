"""Rehearsals: a manifest planned and promoted in the sandbox account, with failures where they are wanted."""

import json
from pathlib import Path
from typing import Any

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.sandbox import service as sandbox
from builders.sandbox.records import OnError
from builders.sandbox.schemas.manifest import SandboxManifest
from builders.sandbox.service import RunParameters
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver
from tests.profile.make import Office
from tests.sandbox.make import Json, actions, alias, apply, crew, findings, manifest, plan, steps
from tests.sandbox.simulating import SIMULATE, ask, refused, rows_of, simulate
from tests.sandbox.test_statements import Wire, single
from tests.webhooks.make import create, deliveries, send_due

__all__ = ["single"]  # a fixture


async def rehearse(client: Client, *aliases: Json, of: Json | None = None, **members: Any) -> Json:
    """A rehearsal of a manifest of these aliases; `of` has further members of the manifest."""
    return await simulate(client, type="manifest", manifest=manifest(aliases, **(of or {})), **members)


async def status_of(client: Client) -> Json:
    """What the sandbox account has."""
    contents: Json = (await client.get("/v1/sandbox/status")).json()["sandbox"]
    return contents


async def test_a_rehearsal_shows_the_plan_how_it_went_and_what_it_costs(alice: Person, domain: str) -> None:
    found = await rehearse(alice, alias(f"ada@{domain}"), alias(f"eve@{domain}"))

    assert actions(found["plan"]) == [("alias.ada", "create"), ("alias.eve", "create")]
    assert (found["plan"]["status"], found["promotion"]["status"]) == ("ready", "succeeded")
    assert steps(found["promotion"]) == {"alias.ada": "succeeded", "alias.eve": "succeeded"}
    assert found["promotion"]["summary"] == {"succeeded": 2}
    (invoice,) = found["invoices"]
    assert (invoice["id"], invoice["number"]) == (None, None)
    assert invoice["total"] == {"amount": "24.00", "currency": "USD"}
    assert [line["description"] for line in invoice["lines"]] == [f"ada@{domain}", f"eve@{domain}"]


async def test_nothing_is_kept_unless_it_is_asked_for(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"grace@{domain}"))
    before = await rows_of(conn, alice.account.id), await rows_of(conn, alice.account.sandbox_id)
    found = await rehearse(alice, alias(f"ada@{domain}"))

    assert found["persisted"] is False
    assert (await rows_of(conn, alice.account.id), await rows_of(conn, alice.account.sandbox_id)) == before


async def test_what_persists_is_the_sandboxs_and_nothing_live_changes(
    alice: Person, bob: Person, conn: Conn, domain: str
) -> None:
    before = await rows_of(conn, alice.account.id)
    found = await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    again = await rehearse(alice.test, alias(f"ada@{domain}"), persist=True)

    assert (found["persisted"], await status_of(alice)) == (True, {"aliases": 1, "projects": 0, "webhooks": 0})
    assert found["invoices"][0]["number"].startswith("TEST-")
    assert actions(again["plan"]) == [("alias.ada", "no_op")]
    assert again["invoices"] == []
    assert await rows_of(conn, alice.account.id) == before
    # The live name is as free as before, for everybody, and a live plan does not see the sandbox's.
    assert actions(await plan(alice.test, alias(f"ada@{domain}"))) == [("alias.ada", "create")]
    await apply(bob, alias(f"ada@{domain}"))
    assert (await rehearse(bob, alias(f"ada@{domain}")))["promotion"]["status"] == "succeeded"


async def test_what_fails_where_it_was_asked_to_stops_the_rest(alice: Person, domain: str) -> None:
    wanted = [alias(f"{name}@{domain}") for name in ("ada", "eve", "grace")]
    found = await rehearse(alice, *wanted, fail_at={"alias.eve": "taken"}, persist=True)

    assert found["promotion"]["status"] == "failed"
    assert steps(found["promotion"]) == {"alias.ada": "skipped", "alias.eve": "failed", "alias.grace": "skipped"}
    (failed,) = [each for each in found["promotion"]["steps"] if each["status"] == "failed"]
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("taken", False)
    assert (await status_of(alice))["aliases"] == 0
    assert found["invoices"] == []


async def test_or_the_rest_goes_on_without_it_and_is_resumed_by_another(alice: Person, domain: str) -> None:
    wanted = [alias(f"{name}@{domain}") for name in ("ada", "eve", "grace")]
    half = await rehearse(alice, *wanted, fail_at={"alias.eve": "held"}, on_error="continue", persist=True)
    rest = await rehearse(alice, *wanted, persist=True)

    assert half["promotion"]["status"] == "partial"
    assert steps(half["promotion"]) == {
        "alias.ada": "succeeded",
        "alias.eve": "failed",
        "alias.grace": "succeeded",
    }
    assert len(half["invoices"][0]["lines"]) == 2
    assert actions(rest["plan"]) == [("alias.ada", "no_op"), ("alias.eve", "create"), ("alias.grace", "no_op")]
    assert rest["promotion"]["status"] == "succeeded"


async def test_an_unknown_address_is_named_and_so_is_what_has_nothing_to_do(alice: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    wanted = manifest([alias(f"ada@{domain}"), alias(f"eve@{domain}")])
    answer = await ask(
        alice, type="manifest", manifest=wanted, fail_at={"alias.evee": "taken", "alias.ada": "taken"}
    )

    assert refused(answer) == {
        ("body.fail_at.alias.evee", "fail_at_unknown"),
        ("body.fail_at.alias.ada", "fail_at_unknown"),
    }
    assert "'alias.eve'" in answer.json()["detail"][0]["msg"]


async def test_a_plan_with_errors_is_shown_and_not_carried_out(alice: Person, domain: str) -> None:
    found = await rehearse(
        alice, alias(f"postmaster@{domain}"), alias(f"ada@{domain}"), persist=True, fail_at={"alias.ada": "taken"}
    )

    assert findings(found["plan"]["errors"]) == {("alias.postmaster", "reserved")}
    assert (found["promotion"], found["persisted"], found["invoices"]) == (None, False, [])


async def test_pruning_is_rehearsed_too(alice: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    found = await rehearse(alice, of={"prune": True}, persist=True)

    assert actions(found["plan"]) == [("alias.ada", "delete")]
    assert (found["plan"]["confirm_deletes"], found["promotion"]["status"]) == (1, "succeeded")
    assert (await status_of(alice))["aliases"] == 0


async def test_the_events_of_what_persists_reach_the_sandboxs_webhooks(
    alice: Person, service: Service, conn: Conn, office: Office, domain: str, receiver: Receiver
) -> None:
    await create(alice.test, url=receiver.url, events=["*"])
    await create(alice, url=receiver.url, events=["*"])
    await office.work()
    before = await rows_of(conn, alice.account.id)
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)
    await office.work()
    await send_due(service, account_id=alice.account.sandbox_id)

    sent = {each["event"]: each for each in await deliveries(alice.test)}
    assert {"alias.created", "promotion.completed", "invoice.created"} <= sent.keys()
    assert not any(each["livemode"] for each in sent.values())
    assert await rows_of(conn, alice.account.id) == before


async def test_projects_and_webhooks_are_rehearsed_with_what_needs_them(alice: Person, domain: str) -> None:
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


async def test_a_thousand_names_are_as_many_statements_as_ten(
    alice: Person, service: Service, single: Database, domain: str, tmp_path: Path
) -> None:
    wire, counted = Wire(tmp_path / "trace"), []
    state = service.api.state
    for count in (1, 10, 1000):
        wanted = SandboxManifest.model_validate(manifest([alias(each) for each in crew(count, domain)]))
        async with single.connection() as conn:
            watched = wire.watched(conn)
        with watched:
            found = await sandbox.rehearse(
                single,
                outbound=state.outbound,
                account_id=alice.account.id,
                request=sandbox.RehearsalRequest(
                    manifest=wanted.manifest(), fail_at={}, on_error=OnError.STOP, persist=False, actor=OPERATOR
                ),
                parameters=RunParameters.of(state.settings, state.keyring),
            )
        assert len(found.steps) == count
        counted.append(wire.statements())

    # Of the first one alone it was asked whose twin the account is.
    assert counted[1] == counted[2] < 50


async def test_two_thousand_names_are_rehearsed_in_one_request(alice: Person, domain: str) -> None:
    found = await rehearse(alice, *[alias(each) for each in crew(2000, domain)])

    assert found["promotion"]["summary"] == {"succeeded": 2000}
    assert found["invoices"][0]["total"] == {"amount": "24000.00", "currency": "USD"}


async def test_a_wrong_manifest_is_named_where_it_is_wrong(alice: Person, domain: str) -> None:
    wrong = manifest([alias(f"ada@{domain}", enabld=True)])
    answer = await ask(alice, type="manifest", manifest=wrong)

    assert refused(answer) == {("body.manifest.resources.aliases.0.enabld", "unknown_field")}
    bad_code = await ask(alice, type="manifest", manifest=manifest([]), fail_at={"alias.ada": "No code"})
    assert refused(bad_code) == {("body.fail_at.alias.ada", "string_pattern_mismatch")}


async def test_a_manifest_of_more_than_a_megabyte_is_too_large(alice: Person) -> None:
    body = json.dumps({"type": "manifest", "manifest": manifest([])}) + " " * 1024 * 1024
    answer = await alice.post(SIMULATE, content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (413, "manifest_too_large")


async def test_bob_rehearses_in_his_own(alice: Person, bob: Person, domain: str) -> None:
    await rehearse(alice, alias(f"ada@{domain}"), persist=True)

    assert (await status_of(bob))["aliases"] == 0
    assert actions((await rehearse(bob, alias(f"ada@{domain}")))["plan"]) == [("alias.ada", "create")]

"""Who may do what with registrars, and what a request must look like."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from builders.demo.registrars.fake import FakeServer
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.sync import INVENTORY, SYNC, fake_of, ok, sync
from tests.portfolio.team.make import code, join, of

RECONCILE, IMPORT = f"{REGISTRARS}/reconcile", f"{INVENTORY}/import"
UNKNOWN = "0193a1b2-0000-7000-8000-0000000000ff"
NO_RUN = f"{REGISTRARS}/runs/{UNKNOWN}"
MANUAL = f"{REGISTRARS}/manual:corner"
LIST = {"provider": "manual:corner", "domains": ["a.com"]}
Request = tuple[str, str, Mapping[str, Any] | None]
READS: list[Request] = [
    ("GET", REGISTRARS, None),
    ("GET", INVENTORY, None),
    ("GET", RECONCILE, None),
    ("GET", NO_RUN, None),
]
EDITS: list[Request] = [("POST", SYNC, None), ("POST", IMPORT, LIST)]
MANAGES: list[Request] = [("PUT", MANUAL, {}), ("DELETE", MANUAL, None)]


async def send(person: Person, request: Request, **options: Any) -> httpx.Response:
    method, path, body = request
    return await person.request(method, path, json=body, **options)


@pytest.mark.parametrize("request_", [*READS, *EDITS, *MANAGES], ids=lambda each: f"{each[0]} {each[1][-20:]}")
async def test_a_key_without_the_scope_is_refused(people: MakePerson, request_: Request) -> None:
    dana = await people("dana", preset=Preset.DEVELOPER_FULL)
    assert code(await send(dana, request_)) == (403, "insufficient_scope")


@pytest.mark.parametrize("request_", [*EDITS, *MANAGES], ids=lambda each: f"{each[0]} {each[1][-20:]}")
async def test_a_viewer_changes_nothing(alice: Person, people: MakePerson, request_: Request) -> None:
    charlie = await people("charlie", preset=Preset.DOMAINER_FULL)
    await join(alice, charlie, "viewer")
    assert (await send(charlie, request_, headers=of(alice))).status_code == 403
    assert ok(await alice.get(REGISTRARS))["items"][0]["connected"] is False


@pytest.mark.parametrize("request_", READS[:3], ids=lambda each: each[1][-10:])
async def test_a_viewer_reads(alice: Person, people: MakePerson, request_: Request) -> None:
    charlie = await people("charlie", preset=Preset.DOMAINER_FULL)
    await join(alice, charlie, "viewer")
    assert (await send(charlie, request_, headers=of(alice))).status_code == 200


@pytest.mark.parametrize("request_", [*READS, *EDITS, *MANAGES], ids=lambda each: f"{each[0]} {each[1][-20:]}")
async def test_a_stranger_does_not_reach_the_portfolio(
    alice: Person, people: MakePerson, request_: Request
) -> None:
    bob = await people("bob", preset=Preset.DOMAINER_FULL)
    assert (await send(bob, request_, headers=of(alice))).status_code in {403, 404}


async def test_a_member_who_does_not_manage_registrars_sees_no_hints(
    alice: Person, people: MakePerson, fakes: FakeServer
) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    charlie = await people("charlie", preset=Preset.DOMAINER_FULL)
    await join(alice, charlie, "viewer")
    [seen] = [each for each in ok(await charlie.get(REGISTRARS, headers=of(alice)))["items"] if each["connected"]]
    assert (seen["provider"], seen["credentials_set"]) == ("porkbun", [])


async def test_the_owner_sees_the_hints(alice: Person, fakes: FakeServer) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    [seen] = [each for each in ok(await alice.get(REGISTRARS))["items"] if each["connected"]]
    assert [each["name"] for each in seen["credentials_set"]] == ["api_key", "secret_api_key"]


async def test_bob_does_not_see_the_inventory_of_alice(alice: Person, bob: Person) -> None:
    ok(await alice.post(IMPORT, json=LIST))
    assert ok(await bob.get(INVENTORY))["items"] == []


async def test_bob_does_not_see_the_run_of_alice(
    alice: Person, bob: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    run = await sync(alice, worker)
    assert code(await bob.get(f"{REGISTRARS}/runs/{run['run_id']}")) == (404, "registrar_run_not_found")


async def test_bob_disconnects_nothing_of_alice(alice: Person, bob: Person) -> None:
    ok(await alice.put(MANUAL, json={}))
    gone = ok(await bob.delete(MANUAL))
    assert (gone["disconnected"], gone["domains_affected"]) == (False, 0)
    assert ok(await alice.get(REGISTRARS))["items"][0]["connected"] is True


@pytest.mark.parametrize("run_id", ["none", "0193", UNKNOWN])
async def test_a_run_that_does_not_exist_is_not_found(alice: Person, run_id: str) -> None:
    assert code(await alice.get(f"{REGISTRARS}/runs/{run_id}")) == (404, "registrar_run_not_found")


@pytest.mark.parametrize(
    ("path", "query", "place"),
    [
        (SYNC, {"wait": 31}, "wait"),
        (SYNC, {"wait": -1}, "wait"),
        (SYNC, {"dry_run": "perhaps"}, "dry_run"),
        (SYNC, {"confirm_drop": "true"}, "provider"),
        (SYNC, {"providr": "porkbun"}, "providr"),
        (IMPORT, {"mode": "replace"}, "mode"),
        (IMPORT, {"provider": "p" * 81}, "provider"),
    ],
)
async def test_a_bad_parameter_is_named(alice: Person, path: str, query: dict[str, Any], place: str) -> None:
    refused = await alice.post(path, params=query, json=LIST if path == IMPORT else None)
    assert (refused.status_code, refused.json()["detail"][0]["loc"][-1]) == (422, place)


@pytest.mark.parametrize(
    ("path", "query", "place"),
    [
        (INVENTORY, {"matched": "perhaps"}, "matched"),
        (INVENTORY, {"stale": "2"}, "stale"),
        (INVENTORY, {"cursor": "nonsense"}, "cursor"),
        (INVENTORY, {"limit": 0}, "limit"),
        (RECONCILE, {"category": "other"}, "category"),
        (RECONCILE, {"min_severity": "low"}, "min_severity"),
        (RECONCILE, {"cursor": "nonsense"}, "cursor"),
        (RECONCILE, {"severity": "high"}, "severity"),
    ],
)
async def test_a_bad_filter_is_named(alice: Person, path: str, query: dict[str, Any], place: str) -> None:
    refused = await alice.get(path, params=query)
    assert (refused.status_code, refused.json()["detail"][0]["loc"][-1]) == (422, place)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"sync_interval_hours": 0}, "sync_interval_hours"),
        ({"sync_interval_hours": 721}, "sync_interval_hours"),
        ({"sync_interval_hours": "24"}, "sync_interval_hours"),
        ({"enabled": "yes"}, "enabled"),
        ({"label": ""}, "label"),
        ({"label": "x" * 81}, "label"),
        ({"environment": "staging"}, "environment"),
        ({"verify": None}, "verify"),
        ({"credentials": {str(at): "x" for at in range(21)}}, "credentials"),
        ({"dry_run": True}, "dry_run"),
    ],
)
async def test_a_bad_member_of_a_connection_is_named(alice: Person, body: dict[str, Any], place: str) -> None:
    refused = await alice.put(MANUAL, json=body)
    assert refused.status_code == 422
    assert place in refused.json()["detail"][0]["loc"]


@pytest.mark.parametrize("name", ["UPPER", "-first", "a b", "x" * 64, ""])
async def test_a_name_of_a_connection_has_a_form(alice: Person, name: str) -> None:
    refused = await alice.put(MANUAL, json={}, params={"connection": name})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["query", "connection"])


@pytest.mark.parametrize("provider", ["nobody", "manual:", "manual:-x", "manual:a b", "x" * 200])
async def test_an_unknown_registrar_is_not_found(alice: Person, provider: str) -> None:
    assert code(await alice.put(f"{REGISTRARS}/{provider}", json={})) == (404, "provider_not_found")


async def test_a_sync_of_a_registrar_without_a_connection_is_refused(alice: Person) -> None:
    assert code(await alice.post(SYNC, params={"provider": "porkbun"})) == (409, "not_connected")


async def test_a_sync_of_an_unknown_registrar_is_not_found(alice: Person) -> None:
    assert code(await alice.post(SYNC, params={"provider": "porkbunn"})) == (404, "provider_not_found")


async def test_a_sync_without_connections_has_ended(alice: Person) -> None:
    run = ok(await alice.post(SYNC))
    assert (run["state"], run["providers"], run["finished_at"] is not None) == ("completed", [], True)


async def test_a_registrar_without_an_api_is_not_synced(alice: Person) -> None:
    ok(await alice.put(MANUAL, json={}))
    [part] = ok(await alice.post(SYNC))["providers"]
    assert (part["state"], part["error"]["code"]) == ("unsupported", "provider_unsupported")
    assert part["error"]["hint"] == "Send its list of domains: POST /v1/portfolio/registrars/inventory/import."


async def test_a_disabled_connection_is_skipped(alice: Person, fakes: FakeServer) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    ok(await alice.put(f"{REGISTRARS}/porkbun", json={"enabled": False}))
    [part] = ok(await alice.post(SYNC))["providers"]
    assert (part["state"], part["error"]["code"]) == ("skipped", "connection_disabled")

"""Exports of what credentials read: their parts, who collects them, their bounds, and what is stored."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from builders.app import Service
from builders.exports import lists, service as exports, store
from builders.exports.records import LIFETIME
from builders.identity.records import Preset
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Unsealable
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person, make_person
from tests.mandates import machine
from tests.published import published
from tests.worker import Worker

PATH = "/v1/account/exports"
KEYS, PROJECTS = "api_keys_list_keys", "projects_list_projects"
HIDDEN = {
    "account_list_audit",
    "aliases_list_correspondents",
    "aliases_list_messages",
    "auth_list_connections",
    "auth_list_sessions",
}
Json = dict[str, Any]
# What an export holds. A new operation that lists is added here, or to LEFT_OUT with a reason.
PARTS = {
    "account_get_erasure",
    "account_list_complete_exports",
    "account_get_machines",
    "account_list_deciders",
    "aliases_list_aliases",
    "aliases_list_destinations",
    "api_keys_list_keys",
    "domains_list_domains",
    "invoices_get_billing_details",
    "invoices_list_invoices",
    "messages_list_messages",
    "portfolio_get_notification_preferences",
    "portfolio_get_parking",
    "portfolio_get_portfolio_views",
    "portfolio_get_team",
    "portfolio_list_billing_charges",
    "portfolio_list_domains",
    "portfolio_list_ledger_entries",
    "portfolio_list_notices",
    "portfolio_list_portfolio_formats",
    "portfolio_list_portfolio_imports",
    "portfolio_list_registrar_inventory",
    "portfolio_list_registrars",
    "portfolio_list_renewals",
    "portfolio_list_tags",
    "profile_get",
    "projects_list_projects",
    "sandbox_get_policy",
    "sandbox_list_plans",
    "sandbox_list_requests",
    "webhooks_list_deliveries",
    "webhooks_list_destinations",
    "webhooks_read_events",
}
# They read one item, which is as in its list or belongs to none of the account's data.
ITEMS = {
    "account_get_export",
    "account_get_export_content",
    "aliases_get",
    "api_keys_get",
    "auth_get_request",
    "auth_open_connection_request",
    "domains_get_domain",
    "portfolio_get_domain",
    "projects_get",
    "webhooks_get",
}


async def request(client: Client) -> Json:
    """Request an export."""
    answer = await client.post(PATH)
    assert answer.status_code == 201, answer.text
    export: Json = answer.json()
    return export


async def export(client: Client, person: Person, settings: Settings) -> Json:
    """Request an export and let the worker write it."""
    requested = await request(client)
    await queue.run_pending(person.service.api.state.database, settings)
    return requested


async def collect(client: Client, requested: Json) -> tuple[Json, dict[str, list[Any]]]:
    """Return the first line, and the items by part."""
    answer = await client.get(f"{PATH}/{requested['id']}/content")
    assert answer.status_code == 200, answer.text
    first, *lines = map(json.loads, answer.text.splitlines())
    items: dict[str, list[Any]] = {}
    for line in lines:
        items.setdefault(line["part"], []).append(line["item"])
    return first, items


async def write_page(person: Person, requested: Json, **bounds: int) -> bool:
    """Write a page as the worker does."""
    state = person.service.api.state
    return await exports.write_page(
        lists.Reader(state.database, keyring=state.keyring, settings=state.settings),
        live_account_id=person.account.id,
        account_id=person.account.id,
        export_id=UUID(requested["id"]),
        **bounds,
    )


async def show(client: Client, requested: Json) -> tuple[str, str | None]:
    """Return the state of an export and its code."""
    found = (await client.get(f"{PATH}/{requested['id']}")).json()
    return found["state"], found["code"]


async def refusal(client: Client, requested: Json, rest: str = "/content") -> tuple[int, str]:
    """Return how a request for the export is refused."""
    answer = await client.get(f"{PATH}/{requested['id']}{rest}")
    return answer.status_code, answer.json()["code"]


async def make_projects(person: Person, count: int) -> list[Any]:
    """Make projects; return them as the API lists them."""
    for at in range(count):
        assert (await person.post("/v1/builders/projects", json={"name": f"Lander {at}"})).status_code == 201
    listed: list[Any] = (await person.get("/v1/builders/projects")).json()["items"]
    return listed


async def list_pages(conn: Conn, requested: Json) -> list[bytes]:
    """Return what is stored of the content of an export."""
    found = await conn.execute("SELECT content FROM exports_pages WHERE export_id = %s", (UUID(requested["id"]),))
    return [content for (content,) in await found.fetchall()]


def test_each_operation_that_reads_is_a_part_or_left_out() -> None:
    """A new operation fails here until somebody decides about it."""
    reads = {
        each["get"]["operationId"]
        for each in published().document["paths"].values()
        if "x-scope" in each.get("get", ())
    }

    assert lists.routes().keys() == PARTS | lists.COMPLETE
    assert reads == PARTS | lists.LEFT_OUT.keys() | ITEMS


async def test_it_holds_the_items_as_the_api_lists_them(
    alice: Person, settings: Settings, database: Database
) -> None:
    projects = await make_projects(alice, 2)
    await Worker(database, settings).work()  # which publishes the events of the projects
    _, items = await collect(alice, await export(alice, alice, settings))

    assert items[PROJECTS] == projects
    assert items["profile_get"] == [(await alice.get("/v1/me")).json()]
    assert items[KEYS] == (await alice.get("/v1/api-keys")).json()["items"]
    assert items["webhooks_read_events"] == (await alice.get("/v1/events")).json()["items"]


async def test_it_names_what_it_leaves_out(alice: Person, settings: Settings) -> None:
    first, items = await collect(alice, await export(alice, alice, settings))

    assert first["left_out"]["portfolio_list_domains"] == "insufficient_scope"
    assert {first["left_out"][name] for name in HIDDEN} == {"never"}
    assert items.keys() <= set(first["parts"])
    assert set(first["parts"]) | first["left_out"].keys() == PARTS | lists.LEFT_OUT.keys()


async def test_a_session_reads_all_parts(alice: Person, settings: Settings) -> None:
    async with alice.browser() as browser:
        await browser.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
        first, items = await collect(browser, await export(browser, alice, settings))

    assert first["left_out"] == lists.LEFT_OUT
    assert [each["domain"] for each in items["portfolio_list_domains"]] == ["harbour.com"]


async def test_a_mandate_cuts_the_parts_to_its_toolsets(alice: Person, settings: Settings) -> None:
    agent = await machine(alice, toolsets=["api", "names"], read_only=True)
    first, _ = await collect(agent, await export(agent, alice, settings))

    assert {"aliases_list_aliases", KEYS} <= set(first["parts"])
    assert {first["left_out"][name] for name in (PROJECTS, "invoices_list_invoices")} == {"mandate_exceeded"}


async def test_a_mandate_for_a_portfolio_without_membership_leaves_it_out(
    alice: Person, bob: Person, settings: Settings
) -> None:
    agent = await machine(alice, preset="domainer_full", portfolio_account=str(bob.account.id))
    first, _ = await collect(agent, await export(agent, alice, settings))

    assert first["left_out"]["portfolio_list_domains"] == "portfolio_not_found"


async def test_parts_left_out_are_no_refusals_of_the_audit(alice: Person, settings: Settings) -> None:
    agent = await machine(alice, toolsets=["api"], read_only=True)
    requested = await export(agent, alice, settings)
    async with alice.browser() as browser:
        entries = (await browser.get("/v1/account/audit")).json()["items"]

    assert [each["action"] for each in entries if "refused" in each["action"]] == []
    assert [each["about"] for each in entries if each["action"] == "export.requested"] == [
        {"export_id": requested["id"]}
    ]


async def test_a_key_exports_its_own_account(alice: Person, bob: Person, settings: Settings) -> None:
    await make_projects(alice, 1)
    _, items = await collect(alice.test, await export(alice.test, alice, settings))
    _, of_bob = await collect(bob, await export(bob, bob, settings))

    assert (PROJECTS in items, PROJECTS in of_bob) == (False, False)


async def test_bob_and_charlie_do_not_see_alices(
    alice: Person, bob: Person, service: Service, settings: Settings
) -> None:
    requested = await export(alice, alice, settings)
    async with await make_person(service, name="charlie", preset=Preset.DOMAINER_FULL) as charlie:
        found = [await refusal(each, requested, rest) for each in (bob, charlie) for rest in ("", "/content")]

    assert found == [(404, "export_not_found")] * 4


async def test_another_credential_of_the_account_does_not_collect_it(alice: Person, settings: Settings) -> None:
    requested = await export(alice, alice, settings)
    other = await machine(alice)
    async with alice.browser() as browser:
        found = [await refusal(each, requested) for each in (other, alice.test, browser)]

    assert found == [(404, "export_not_found")] * 3


async def test_support_requests_none(alice: Person, service: Service) -> None:
    session = await alice.admit_support(may_write=True)
    async with Client(service, token=session.token) as support:
        answer = await support.post(PATH)

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")


async def test_a_second_one_at_a_time_is_refused(alice: Person, settings: Settings) -> None:
    await request(alice)
    second = await alice.post(PATH)
    await queue.run_pending(alice.service.api.state.database, settings)

    assert (second.status_code, second.json()["code"]) == (409, "export_running")
    await request(alice)


async def test_the_sixth_of_a_day_is_refused(
    make_limited: Callable[[], Awaitable[Person]], settings: Settings
) -> None:
    person = await make_limited()
    for _ in range(5):
        await export(person, person, settings)
    sixth = await person.post(PATH)
    clock.move(timedelta(days=1))

    assert (sixth.status_code, sixth.json()["violated_policies"]) == (429, ["account_exports"])
    await request(person)


async def test_a_repeated_request_is_one_export(alice: Person) -> None:
    once = {"Idempotency-Key": "one-export"}
    first, second = [await alice.post(PATH, headers=once) for _ in range(2)]

    assert (second.status_code, second.json()) == (201, first.json())


async def test_a_running_one_has_no_content(alice: Person) -> None:
    assert await refusal(alice, await request(alice)) == (409, "export_not_ready")


async def test_a_revoked_key_ends_its_export(alice: Person, settings: Settings, conn: Conn) -> None:
    agent = await machine(alice)
    requested = await request(agent)
    for _ in range(3):
        assert await write_page(alice, requested)
    async with alice.browser() as browser:
        assert (await browser.delete(f"/v1/api-keys/{agent.key_id}")).is_success
    await queue.run_pending(alice.service.api.state.database, settings)
    row = await conn.execute("SELECT state, code FROM exports_files WHERE id = %s", (UUID(requested["id"]),))

    assert await row.fetchone() == ("failed", "credentials_invalid")
    assert await list_pages(conn, requested) == []


async def test_a_killed_worker_is_continued(alice: Person, settings: Settings, conn: Conn) -> None:
    projects = await make_projects(alice, 5)
    requested = await request(alice)
    while PROJECTS not in (await alice.get(f"{PATH}/{requested['id']}")).json()["parts"]:
        assert await write_page(alice, requested, page_size=2)
    row = await conn.execute("SELECT position FROM exports_files WHERE id = %s", (UUID(requested["id"]),))
    assert await row.fetchone() != (None,), "the first of several pages"
    await queue.run_pending(alice.service.api.state.database, settings)
    _, items = await collect(alice, requested)

    assert items[PROJECTS] == projects
    assert len(items["profile_get"]) == 1


async def test_slices_of_one_page_hold_the_same(alice: Person, settings: Settings) -> None:
    projects = await make_projects(alice, 2)
    requested = await request(alice)
    short = settings.model_copy(update={"worker_slice_s": 0})
    await queue.run_pending(alice.service.api.state.database, short)
    _, items = await collect(alice, requested)

    assert items[PROJECTS] == projects


async def test_two_workers_double_nothing(alice: Person) -> None:
    projects = await make_projects(alice, 5)
    requested = await request(alice)
    while any(await asyncio.gather(*(write_page(alice, requested, page_size=2) for _ in range(3)))):
        pass
    _, items = await collect(alice, requested)

    assert items[PROJECTS] == projects


@pytest.mark.maximum("export_bytes")
async def test_its_size_is_bounded(alice: Person, conn: Conn) -> None:
    whole = await request(alice)
    while await write_page(alice, whole):
        pass
    size = (await alice.get(f"{PATH}/{whole['id']}")).json()["size"]
    shown = []
    for bound in (size, size - 1):
        requested = await request(alice)
        while await write_page(alice, requested, max_bytes=bound):
            pass
        shown.append(await show(alice, requested))

    assert shown == [("ready", None), ("failed", "export_too_large")]
    assert await refusal(alice, requested) == (409, "export_not_ready")
    assert await list_pages(conn, requested) == []


async def test_its_content_is_sealed(alice: Person, settings: Settings, conn: Conn) -> None:
    await make_projects(alice, 1)
    pages = await list_pages(conn, await export(alice, alice, settings))

    assert pages
    assert not any(b"Lander" in each or b"item" in each for each in pages)


@pytest.fixture
async def plain(service: Service, alice: Person) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of Alice without a check of the document, which does not have 206."""
    transport, sent = httpx.ASGITransport(app=service), {"X-API-Key": alice.key}
    async with httpx.AsyncClient(transport=transport, base_url="http://builders.test", headers=sent) as client:
        yield client


@pytest.fixture
async def pages(alice: Person, conn: Conn) -> tuple[str, str]:
    """Return the path of the content of an export of several pages, and the content."""
    await make_projects(alice, 3)
    requested = await request(alice)
    while await write_page(alice, requested, page_size=1):
        pass
    assert len(await list_pages(conn, requested)) > 3
    path = f"{PATH}/{requested['id']}/content"
    return path, (await alice.get(path)).text


async def test_ranges_that_follow_each_other_are_the_whole(
    plain: httpx.AsyncClient, pages: tuple[str, str]
) -> None:
    path, content = pages
    answers = [
        await plain.get(path, headers={"Range": f"bytes={first}-{first + 299}"})
        for first in range(0, len(content), 300)
    ]

    assert {each.status_code for each in answers} == {206}
    assert "".join(each.text for each in answers) == content
    assert answers[0].headers["content-range"] == f"bytes 0-299/{len(content)}"


@pytest.mark.parametrize("last", [-1, 0, 1])
async def test_a_range_ends_and_begins_at_the_first_line(
    plain: httpx.AsyncClient, pages: tuple[str, str], last: int
) -> None:
    path, content = pages
    end = content.index("\n") + 1 + last
    before, after = [
        await plain.get(path, headers={"Range": wanted}) for wanted in (f"bytes=0-{end - 1}", f"bytes={end}-")
    ]

    assert (before.text, after.text) == (content[:end], content[end:])


@pytest.mark.parametrize(("beyond", "status"), [(-1, 206), (0, 416)])
async def test_a_range_begins_before_the_end(
    plain: httpx.AsyncClient, pages: tuple[str, str], beyond: int, status: int
) -> None:
    path, content = pages
    answer = await plain.get(path, headers={"Range": f"bytes={len(content) + beyond}-"})

    assert answer.status_code == status


async def test_pages_of_another_export_are_not_unsealed(
    alice: Person, bob: Person, settings: Settings, conn: Conn, database: Database
) -> None:
    await make_projects(bob, 1)
    own, foreign = await export(alice, alice, settings), await export(bob, bob, settings)
    await conn.execute(
        """
        UPDATE exports_pages AS own SET content = other.content FROM exports_pages AS other
        WHERE own.export_id = %s AND other.export_id = %s
        """,
        (UUID(own["id"]), UUID(foreign["id"])),
    )
    row = {"account_id": alice.account.id, "export_id": UUID(own["id"])}
    found = await store.find(conn, **row, since=clock.now() - LIFETIME)
    assert found is not None
    with pytest.raises(Unsealable):
        async for _ in exports.read(database, keyring=alice.service.api.state.keyring, export=found):
            pass


async def test_after_24_hours_it_is_gone(
    alice: Person, settings: Settings, database: Database, conn: Conn
) -> None:
    clock.move(timedelta())
    requested = await export(alice, alice, settings)
    clock.move(LIFETIME - timedelta(minutes=1))
    before = await alice.get(f"{PATH}/{requested['id']}/content")
    clock.move(timedelta(minutes=1))
    after = [await refusal(alice, requested, rest) for rest in ("", "/content")]
    await old_rows.delete(database, "exports_files")

    assert (before.status_code, after) == (200, [(404, "export_not_found")] * 2)
    assert await list_pages(conn, requested) == []

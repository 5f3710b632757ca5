"""POST /v1/catalog/events: each event counts once."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from tests.cast import Client
from tests.catalog.make import Loader, fresh
from tests.random_cases import cases

PATH = "/v1/catalog/events"
BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"}

Row = dict[str, Any]
Rows = Callable[[], Awaitable[list[Row]]]


@pytest.fixture
async def domain(load: Loader) -> str:
    """Return a domain of this test alone."""
    name = fresh("funnel")
    await load({"domain": name})
    return name


@pytest.fixture
def rows(conn: Conn, domain: str) -> Rows:
    """Return a reader of the stored events of the domain."""

    async def rows() -> list[Row]:
        cursor = await conn.execute("SELECT * FROM catalog_events WHERE domain = %s ORDER BY id", [domain])
        names = [each.name for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]

    return rows


def own_id() -> str:
    return ids.new().hex


async def test_an_event_is_stored_without_private_data(anyone: Client, domain: str, rows: Rows) -> None:
    event = {
        "kind": "claim",
        "domain": domain.upper(),
        "local_part": "jane.doe",
        "result": "completed",
        "category": "travel",
        "session_id": "s" * 16,
        "referrer": "https://News.example:8443/item?secret=1#x",
        "utm": {"source": "newsletter", "campaign": "spring"},
        "metadata": {"variant": "b"},
    }
    answer = await anyone.post(PATH, json=event, headers=BROWSER)

    assert answer.status_code == 200
    [row] = await rows()
    assert answer.json() == {
        "id": str(row["id"]),
        "accepted": True,
        "duplicate": False,
        "results": None,
        "warnings": [],
    }
    assert "set-cookie" not in answer.headers
    kept = {name: row[name] for name in ("kind", "domain", "local_part", "result", "category", "session_id")}
    assert kept == {name: event[name] for name in kept} | {"domain": domain}
    assert (row["referrer"], row["utm"], row["metadata"]) == ("news.example", event["utm"], event["metadata"])
    assert (row["is_machine"], row["agent"], str(row["network"])) == (False, "browser", "127.0.0.0/24")
    assert row["occurred_at"] == row["created_at"]


async def test_a_beacon_of_plain_text_is_json(anyone: Client, domain: str, rows: Rows) -> None:
    text = json.dumps({"kind": "view", "domain": domain})
    for kind in ("text/plain;charset=UTF-8", "text/plain", "application/json", "application/json; charset=utf-8"):
        answer = await anyone.post(PATH, content=text, headers={"Content-Type": kind})
        assert answer.status_code == 200, kind
    assert len(await rows()) == 4


async def test_a_form_is_refused(anyone: Client, domain: str) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await anyone.post(PATH, content=json.dumps({"kind": "view", "domain": domain}), headers=headers)
    assert answer.status_code == 415


async def test_other_paths_refuse_json_as_plain_text(alice: Client) -> None:
    headers = {"Content-Type": "text/plain"}
    assert (await alice.post("/v1/sandbox/plan", content="{}", headers=headers)).status_code == 415


async def test_a_beacon_repeated_five_times_counts_once(anyone: Client, domain: str, rows: Rows) -> None:
    event = {"kind": "view", "domain": domain, "event_id": own_id()}
    answers = [(await anyone.post(PATH, json=event)).json() for _ in range(5)]

    [row] = await rows()
    assert [each["duplicate"] for each in answers] == [False] + [True] * 4
    assert {each["id"] for each in answers} == {str(row["id"])}
    assert all(each["accepted"] for each in answers)


async def test_concurrent_repeats_of_a_beacon_count_once(anyone: Client, domain: str, rows: Rows) -> None:
    event = {"kind": "view", "domain": domain, "event_id": own_id()}
    batch = {"events": [event] * 5}
    single = [anyone.post(PATH, json=event) for _ in range(20)]
    answers = await asyncio.gather(*single, anyone.post(PATH, json=batch))

    [row] = await rows()
    flat = [each.json() for each in answers[:20]] + answers[20].json()["results"]
    assert sorted(each["duplicate"] for each in flat) == [False] + [True] * 24
    assert {each["id"] for each in flat} == {str(row["id"])}


async def test_without_an_id_a_step_of_a_session_counts_once_a_minute(
    anyone: Client, domain: str, rows: Rows
) -> None:
    now = clock.now().replace(second=5)
    event = {"kind": "check", "domain": domain, "local_part": "ada", "session_id": own_id()}

    async def send(**other: object) -> bool:
        answer = await anyone.post(PATH, json={**event, "occurred_at": now.isoformat(), **other})
        return bool(answer.json()["duplicate"])

    assert [await send() for _ in range(3)] == [False, True, True]
    assert not await send(local_part="bob")
    assert not await send(session_id=own_id())
    assert not await send(occurred_at=(now - timedelta(minutes=1)).isoformat())
    assert len(await rows()) == 4


async def test_events_without_ids_count_each_time(anyone: Client, domain: str, rows: Rows) -> None:
    for _ in range(3):
        await anyone.post(PATH, json={"kind": "view", "domain": domain})
    assert len(await rows()) == 3


async def test_each_event_of_a_batch_has_its_own_result(anyone: Client, domain: str, rows: Rows) -> None:
    repeated = own_id()
    answer = await anyone.post(
        PATH,
        json={
            "events": [
                {"kind": "view", "domain": domain, "event_id": repeated},
                {"kind": "buy", "domain": domain},
                {"kind": "claim", "domain": domain},
                {"kind": "view", "domain": domain, "event_id": repeated},
                {"kind": "check", "domain": "no-such.example"},
                "nonsense",
                {"kind": "check", "domain": domain, "local_part": "x" * 65},
                {"kind": "view"},
            ]
        },
    )
    assert answer.status_code == 200
    reply = answer.json()
    assert (reply["id"], reply["accepted"], reply["duplicate"]) == (None, False, False)
    accepted = [True, False, False, True, False, False, False, True]
    assert [each["accepted"] for each in reply["results"]] == accepted
    assert [at for at, each in enumerate(reply["results"]) if each["duplicate"]] == [3]
    errors = [each["error"] and (each["error"]["field"], each["error"]["code"]) for each in reply["results"]]
    assert errors == [
        None,
        ("kind", "enum"),
        ("local_part", "local_part_required"),
        None,
        ("domain", "domain_unknown"),
        ("", "model_attributes_type"),
        ("local_part", "string_too_long"),
        None,
    ]
    assert len(await rows()) == 1


async def test_a_batch_has_up_to_fifty_events(anyone: Client, domain: str, rows: Rows) -> None:
    event = {"kind": "view", "domain": domain}
    assert (await anyone.post(PATH, json={"events": [event] * 50})).status_code == 200
    assert len(await rows()) == 50
    assert (await anyone.post(PATH, json={"events": [event] * 51})).status_code == 422
    assert (await anyone.post(PATH, json={"events": []})).status_code == 422


@pytest.mark.parametrize(
    ("event", "field", "code"),
    [
        ({}, "kind", "event_form"),
        ({"kind": "view", "events": [{"kind": "view"}]}, "kind", "event_form"),
        ({"kind": "check"}, "domain", "domain_required"),
        ({"kind": "view", "domain": "no-such.example"}, "domain", "domain_unknown"),
        ({"kind": "view", "domain": "no such"}, "domain", "domain_unknown"),
        ({"kind": "view", "result": "completed"}, "result", "result_mismatch"),
        ({"kind": "view", "event_id": "short"}, "event_id", "string_too_short"),
        ({"kind": "view", "occurred_at": "2026-01-01T00:00:00"}, "occurred_at", "timezone_aware"),
        ({"kind": "view", "metadata": {f"{n}": "" for n in range(21)}}, "metadata", "too_long"),
        ({"kind": "order"}, "kind", "enum"),
    ],
)
async def test_the_error_of_a_single_event_is_at_its_field(
    anyone: Client, event: dict[str, object], field: str, code: str
) -> None:
    answer = await anyone.post(PATH, json=event)
    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", field], code)


async def test_unknown_members_are_named(anyone: Client) -> None:
    answer = await anyone.post(PATH, json={"kind": "view", "sesion_id": "x", "events": None})
    [warning] = answer.json()["warnings"]
    assert (warning["field"], warning["did_you_mean"]) == ("sesion_id", "session_id")


@pytest.mark.parametrize(
    ("said", "kept"), [(timedelta(days=-30), timedelta(days=-1)), (timedelta(days=2), timedelta(minutes=5))]
)
async def test_the_time_of_an_event_is_limited(
    anyone: Client, domain: str, rows: Rows, said: timedelta, kept: timedelta
) -> None:
    await anyone.post(
        PATH, json={"kind": "view", "domain": domain, "occurred_at": (clock.now() + said).isoformat()}
    )
    [row] = await rows()
    assert row["occurred_at"] - row["created_at"] == kept


async def test_an_event_of_a_machine_is_marked(anyone: Client, domain: str, rows: Rows) -> None:
    for agent in ("Googlebot/2.1", "curl/8.5.0", ""):
        await anyone.post(PATH, json={"kind": "view", "domain": domain}, headers={"User-Agent": agent})
    assert [row["is_machine"] for row in await rows()] == [True] * 3


async def test_a_single_event_has_at_most_8_kb_and_a_batch_64(anyone: Client, domain: str) -> None:
    event = {"kind": "view", "domain": domain, "metadata": {f"{n:020}": "x" * 430 for n in range(16)}}
    assert 7 * 1024 < len(json.dumps(event)) < 8 * 1024
    assert (await anyone.post(PATH, json=event)).status_code == 200
    for body in ({**event, "filler": "x" * 1024}, {"events": [event] * 9}):
        answer = await anyone.post(PATH, json=body)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert (await anyone.post(PATH, json={"events": [event] * 7})).status_code == 200


@cases(15)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "domain", "events", "utm", "metadata", "occurred_at", "session_id", "x"]),
                inner | st.sampled_from(["view", "check", "claim"]),
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
async def test_any_json_is_accepted_or_422(anyone: Client, body: object) -> None:
    answer = await anyone.post(PATH, content=json.dumps(body), headers={"Content-Type": "text/plain"})
    assert answer.status_code in {200, 422}

from typing import Any

import psycopg
import pytest

from builders.identity.records import KeyKind, Preset
from builders.identity.scopes import PRESET_SCOPES
from tests.cast import Person
from tests.identity.make import PATH, WANTED, mint, status


@pytest.mark.parametrize("kind", KeyKind)
@pytest.mark.parametrize("preset", Preset)
async def test_a_key_of_each_kind_and_preset_works(alice: Person, kind: KeyKind, preset: Preset) -> None:
    key = await mint(alice, key_kind=kind, preset=preset, label="deploy")

    assert (key["label"], key["key_kind"], key["preset"]) == ("deploy", kind, preset)
    assert key["scopes"] == PRESET_SCOPES[preset]
    assert key["secret"].startswith(f"svc_{kind}_")
    assert key["secret"].startswith(f"{key['prefix']}_")
    assert key["secret"].endswith(key["last4"])
    assert key["warnings"] == []
    assert await status(alice, key["secret"]) == 200


async def test_a_domainers_key_mints_for_a_developer(dana: Person) -> None:
    assert (await mint(dana, preset="developer_full"))["preset"] == "developer_full"


async def test_a_test_key_mints_a_test_key_of_the_same_account(alice: Person) -> None:
    key = await mint(alice.test, key_kind="test")

    assert (await alice.get(f"{PATH}/{key['id']}")).json()["key_kind"] == "test"


async def test_a_test_key_mints_no_live_key(alice: Person) -> None:
    before = (await alice.get(PATH)).json()

    answer = await alice.test.post(PATH, json=WANTED)

    assert answer.status_code == 403
    assert answer.json()["code"] == "live_key_required"
    assert "live key" in answer.json()["next_action"]
    assert (await alice.get(PATH)).json() == before


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        ({"label": ""}, ["body", "label"]),
        ({"label": " \t"}, ["body", "label"]),
        ({"label": "x" * 121}, ["body", "label"]),
        ({"label": 7}, ["body", "label"]),
        ({"label": None}, ["body", "label"]),
        ({"key_kind": "prod"}, ["body", "key_kind"]),
        ({"key_kind": "LIVE"}, ["body", "key_kind"]),
        ({"preset": "admin"}, ["body", "preset"]),
        ({"preset": ["developer_full"]}, ["body", "preset"]),
    ],
)
async def test_an_invalid_value_is_refused_with_its_location(
    alice: Person, changes: dict[str, Any], loc: list[str]
) -> None:
    answer = await alice.post(PATH, json=WANTED | changes)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


@pytest.mark.parametrize("missing", WANTED)
async def test_every_member_is_required(alice: Person, missing: str) -> None:
    answer = await alice.post(PATH, json={name: value for name, value in WANTED.items() if name != missing})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", missing]]


@pytest.mark.parametrize("label", ["x", "é" * 120, "🔑", "<b>'\"; --"])
async def test_a_label_is_kept_as_it_is(alice: Person, label: str) -> None:
    key = await mint(alice, label=label)

    assert key["label"] == label
    [listed] = [each for each in (await alice.get(PATH)).json()["items"] if each["id"] == key["id"]]
    assert listed["label"] == label


async def test_blanks_around_a_label_go(alice: Person) -> None:
    assert (await mint(alice, label=f"  {'x' * 120}\n"))["label"] == "x" * 120


async def test_an_unknown_member_is_refused_with_a_suggestion(alice: Person) -> None:
    answer = await alice.post(PATH, json=WANTED | {"prest": "domainer_full", "colour": "red"})

    assert answer.status_code == 422
    found = [(each["loc"], each["type"], each.get("did_you_mean")) for each in answer.json()["detail"]]
    assert found == [(["body", "prest"], "unknown_field", "preset"), (["body", "colour"], "unknown_field", None)]


async def test_a_key_with_scopes_of_its_own_is_not_minted(alice: Person) -> None:
    answer = await alice.post(PATH, json=WANTED | {"scopes": ["aliases:read"]})

    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", "scopes"], "member_unsupported")
    assert len((await alice.get(PATH)).json()["items"]) == 2


async def test_minting_publishes_an_event(alice: Person, conn: psycopg.AsyncConnection[Any]) -> None:
    key = await mint(alice)

    rows = await (
        await conn.execute(
            "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = 'api_key.created'"
            " ORDER BY id DESC LIMIT 1",
            [alice.account.id],
        )
    ).fetchall()
    shown = ("id", "label", "key_kind", "preset", "prefix", "expires_at", "allowed_ips")
    assert rows[0][0] == {name: key[name] for name in shown} | {"replaces": None}

"""An invalid manifest is 422, with the location of each error and a suggestion."""

import json
from typing import Any

import pytest

from tests.cast import Person
from tests.plans.make import PLAN, PROMOTE, Json, alias, manifest, plan, unique_domain

ADA = alias("ada@harbour.example")
HERE = ["body", "resources", "aliases", 0]


async def refused(person: Person, body: Any) -> list[Json]:
    answer = await person.post(PLAN, json=body)
    assert answer.status_code == 422, answer.text
    details: list[Json] = answer.json()["detail"]
    return details


@pytest.mark.parametrize(
    ("body", "loc", "meant"),
    [
        ({**manifest([ADA]), "prun": True}, ["body", "prun"], "prune"),
        ({**manifest([ADA]), "on_conflicts": "adopt"}, ["body", "on_conflicts"], "on_conflict"),
        (manifest([{**ADA, "enable": False}]), [*HERE, "enable"], "enabled"),
        (manifest([{**ADA, "destination": []}]), [*HERE, "destination"], "destinations"),
        (manifest([ADA], resources={"alias": [ADA]}), ["body", "resources", "alias"], "aliases"),
        (manifest([ADA], metadata={"name": "a", "label": {}}), ["body", "metadata", "label"], "labels"),
    ],
)
async def test_an_unknown_member_has_a_suggestion(alice: Person, body: Json, loc: list[str], meant: str) -> None:
    (error,) = await refused(alice, body)
    assert (error["loc"], error["type"]) == (loc, "unknown_field")
    assert f"'{meant}'" in error["msg"]


async def test_an_unknown_member_unlike_others_has_no_suggestion(alice: Person) -> None:
    (error,) = await refused(alice, {**manifest([ADA]), "xyzzy": {"{": "}"}})
    assert (error["loc"], error["msg"]) == (["body", "xyzzy"], "Unknown field.")


async def test_an_unknown_member_of_a_promotion_has_a_suggestion(alice: Person) -> None:
    answer = await alice.post(PROMOTE, json={"plan_id": "1", "digest": "2", "confirm_delete": 3})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "confirm_delete"]
    assert "'confirm_deletes'" in answer.json()["detail"][0]["msg"]


async def test_all_errors_are_reported_together(alice: Person) -> None:
    body = manifest([{"key": "Ada", "adress": "ada@x.example", "destinations": []}], name="Not a name", prune="?")
    locs = {tuple(error["loc"][1:]) for error in await refused(alice, body)}
    assert {("metadata", "name"), ("prune",)} <= locs
    assert {("resources", "aliases", 0, each) for each in ("key", "adress", "destinations")} <= locs


@pytest.mark.parametrize(
    ("broken", "member"),
    [
        ({"key": ""}, "key"),
        ({"key": "-ada"}, "key"),
        ({"key": "ada\n"}, "key"),
        ({"key": "a" * 64}, "key"),
        ({"key": 7}, "key"),
        ({"note": "n" * 201}, "note"),
        ({"enabled": "yes"}, "enabled"),
        ({"destinations": "ada@example.net"}, "destinations"),
        ({"destinations": [f"n{n}@example.net" for n in range(11)]}, "destinations"),
        ({"labels": {f"l{n}": "" for n in range(21)}}, "labels"),
        ({"labels": {"l": "v" * 501}}, "labels"),
    ],
)
async def test_an_invalid_value_is_reported_at_its_location(alice: Person, broken: Json, member: str) -> None:
    (error,) = await refused(alice, manifest([{**ADA, **broken}]))
    assert error["loc"][:5] == [*HERE, member]


@pytest.mark.parametrize(
    "destination",
    [
        "",
        "ada",
        "ada@",
        "@example.net",
        "ada@example",
        "ada@localhost",
        "ada@[127.0.0.1]",
        "a b@example.net",
        "Ada <ada@example.net>",
        "ada@example.net\nBcc: all@example.net",
        f"{'a' * 65}@example.net",
        f"ada@{'a' * 250}.net",
        "ada@example..net",
        7,
    ],
)
async def test_a_destination_is_a_valid_mailbox(alice: Person, destination: object) -> None:
    (error,) = await refused(alice, manifest([{**ADA, "destinations": ["ada@example.net", destination]}]))
    assert error["loc"] == [*HERE, "destinations", 1]


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({}, "address_form"),
        ({"address": "ada"}, "address_form"),
        ({"local_part": "ada"}, "address_form"),
        ({"domain": "harbour.example"}, "address_form"),
        ({"address": "ada@harbour.example", "domain": "harbour.example"}, "address_form"),
    ],
)
async def test_an_alias_has_its_address_in_one_form(alice: Person, members: Json, kind: str) -> None:
    wanted = {"key": "ada", "destinations": ["ada@example.net"], **members}
    (error,) = await refused(alice, manifest([wanted]))
    assert (error["loc"], error["type"]) == (HERE, kind)


async def test_each_repeated_key_is_reported_at_its_location(alice: Person) -> None:
    keys = ["one", "two", "one", "two", "one"]
    body = manifest([alias(f"n{at}@harbour.example", key=key) for at, key in enumerate(keys)])
    errors = await refused(alice, body)
    assert [error["loc"] for error in errors] == [["body", "resources", "aliases", at, "key"] for at in (2, 3, 4)]
    assert {error["type"] for error in errors} == {"duplicate_key"}


async def test_two_thousand_aliases_are_the_maximum(alice: Person) -> None:
    unknown = unique_domain()
    most = [alias(f"n{n}@{unknown}") for n in range(2000)]
    planned = await plan(alice, *most)
    assert len(planned["errors"]) == 2000
    (error,) = await refused(alice, manifest([*most, alias(f"n2000@{unknown}")]))
    assert (error["loc"], error["type"]) == (["body", "resources", "aliases"], "too_long")


@pytest.mark.parametrize(
    ("member", "value"), [("api_version", "v2"), ("kind", "manifest"), ("metadata", {}), ("resources", None)]
)
async def test_a_manifest_of_another_kind_is_refused(alice: Person, member: str, value: object) -> None:
    errors = await refused(alice, {**manifest([ADA]), member: value})
    assert errors[0]["loc"][:2] == ["body", member]


@pytest.mark.parametrize("raw", ["", "[]", "null", '"x"', "{", '{"kind": NaN}', '{"kind": "\\ud800"}'])
async def test_a_body_that_is_no_manifest_is_refused(alice: Person, raw: str) -> None:
    answer = await alice.post(PLAN, content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


async def test_text_is_stored_unchanged(alice: Person, domain: str) -> None:
    labels = {"héllo": "100 %s {} \U0001f600", "": "'; DROP TABLE aliases; --"}
    planned = await plan(alice, alias(f"ada@{domain}", note="<b>%(x)s</b> \\t", labels=labels))
    after = planned["actions"][0]["after"]
    assert (after["note"], after["labels"]) == ("<b>%(x)s</b> \\t", labels)
    read = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert json.loads(read.text) == planned

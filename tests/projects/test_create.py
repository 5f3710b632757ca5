import asyncio
import re
from unittest.mock import patch as replaced

import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.projects import fields, service
from builders.projects.fields import SLUG
from tests.cast import Client, Person
from tests.projects.make import ALL, PATH, UNKNOWN_ID, archive, create, list_names, published_events, read
from tests.webhooks import make as webhooks


async def test_only_the_name_is_required(alice: Person) -> None:
    answer = await alice.post(PATH, json={"name": "Acme mail"})

    made = answer.json()
    assert answer.status_code == 201
    assert made.pop("id")
    assert made.pop("created_at") == made.pop("updated_at")
    assert made == {
        "account_id": str(alice.account.id),
        "name": "Acme mail",
        "slug": "acme-mail",
        "description": None,
        "website": None,
        "allowed_domains": [],
        "default_destination": None,
        "webhook_ids": [],
        "alias_limit": None,
        "metadata": {},
        "managed_by": None,
        "status": "active",
        "livemode": True,
        "version": 1,
        "archived_at": None,
        "warnings": [],
    }


async def test_all_fields_are_stored(alice: Person) -> None:
    hook = (await webhooks.create(alice))["id"]
    made = await create(alice, **ALL | {"webhook_ids": [hook, hook]})

    assert {name: made[name] for name in ALL} == ALL | {"webhook_ids": [hook]}
    assert {**await read(alice, made), "warnings": []} == made


async def test_domains_are_stored_as_a_labels_and_mailboxes_in_lower_case(alice: Person) -> None:
    domains = ["Bücher.Example.", "xn--bcher-kva.example", "harbour.example"]
    made = await create(alice, allowed_domains=domains, default_destination=" Ops@Example.NET ")

    assert made["allowed_domains"] == ["xn--bcher-kva.example", "harbour.example"]
    assert made["default_destination"] == "ops@example.net"


async def test_an_unknown_member_is_ignored_with_a_warning(alice: Person) -> None:
    made = await create(alice, alias_lim=5)

    [warning] = made["warnings"]
    assert (warning["field"], warning["did_you_mean"], made["alias_limit"]) == (
        "alias_lim",
        "alias_limit",
        None,
    )


@pytest.mark.parametrize(
    ("members", "loc", "kind"),
    [
        ({"name": None}, ["name"], "string_type"),
        ({"name": "  "}, ["name"], "string_too_short"),
        ({"name": "x" * 81}, ["name"], "string_too_long"),
        ({"name": "a\u202eb"}, ["name"], "text_form"),
        ({"slug": "Acme"}, ["slug"], "string_pattern_mismatch"),
        ({"slug": "1st"}, ["slug"], "string_pattern_mismatch"),
        ({"slug": "ab"}, ["slug"], "string_pattern_mismatch"),
        ({"slug": "acme\n"}, ["slug"], "string_pattern_mismatch"),
        ({"description": "x" * 501}, ["description"], "string_too_long"),
        ({"description": " \n "}, ["description"], "text_form"),
        ({"website": "ftp://acme.example"}, ["website"], "web_address"),
        ({"website": "https://ada:secret@acme.example"}, ["website"], "web_address"),
        ({"allowed_domains": ["harbour"]}, ["allowed_domains", 0], "domain_name"),
        ({"allowed_domains": ["a.example"] * 101}, ["allowed_domains"], "too_long"),
        ({"default_destination": "ops"}, ["default_destination"], "email"),
        ({"webhook_ids": ["x"]}, ["webhook_ids", 0], "uuid_parsing"),
        ({"webhook_ids": [UNKNOWN_ID] * 21}, ["webhook_ids"], "too_long"),
        ({"webhook_ids": [UNKNOWN_ID]}, ["webhook_ids", 0], "webhook_unknown"),
        ({"alias_limit": 0}, ["alias_limit"], "greater_than_equal"),
        ({"alias_limit": 100_001}, ["alias_limit"], "less_than_equal"),
        ({"alias_limit": "5"}, ["alias_limit"], "int_type"),
        ({"alias_limit": True}, ["alias_limit"], "int_type"),
        ({"metadata": {str(n): "x" for n in range(21)}}, ["metadata"], "too_long"),
        ({"metadata": {"x" * 41: "x"}}, ["metadata", "x" * 41, "[key]"], "string_too_long"),
        ({"metadata": {"x": "x" * 501}}, ["metadata", "x"], "string_too_long"),
        ({"metadata": {"x": 1}}, ["metadata", "x"], "string_type"),
    ],
)
async def test_an_invalid_member_is_refused_with_its_location(
    alice: Person, members: dict[str, object], loc: list[str | int], kind: str
) -> None:
    answer = await alice.post(PATH, json={"name": "Acme", **members})

    [detail] = answer.json()["detail"]
    assert (answer.status_code, detail["loc"], detail["type"]) == (422, ["body", *loc], kind)
    assert await list_names(alice) == []


async def test_values_at_every_bound_are_accepted(alice: Person) -> None:
    made = await create(
        alice,
        name="n" * 80,
        slug="a" + "-" * 38 + "z",
        description="d" * 500,
        allowed_domains=[f"d{n}.example" for n in range(100)],
        alias_limit=100_000,
        metadata={f"{n:040}": "v" * 500 for n in range(20)},
    )
    assert (len(made["allowed_domains"]), len(made["metadata"]), made["alias_limit"]) == (100, 20, 100_000)


async def test_another_accounts_webhook_is_refused_like_an_unknown_one(alice: Person, bob: Person) -> None:
    his = (await webhooks.create(bob))["id"]
    own = (await webhooks.create(alice))["id"]
    answer = await alice.post(PATH, json={"name": "Acme", "webhook_ids": [own, his, UNKNOWN_ID]})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [
        ["body", "webhook_ids", 1],
        ["body", "webhook_ids", 2],
    ]
    assert len({each["msg"] for each in answer.json()["detail"]}) == 1


async def test_a_taken_slug_is_refused(alice: Person) -> None:
    await create(alice, slug="acme")
    answer = await alice.post(PATH, json={"name": "Other", "slug": "acme"})

    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")
    assert answer.json()["detail"] == "An active project has the slug acme."
    assert await list_names(alice) == ["Lander"]


async def test_a_taken_derived_slug_gets_a_number(alice: Person, bob: Person) -> None:
    slugs = [(await create(alice, "Acme Mail!"))["slug"] for _ in range(3)]
    assert slugs == ["acme-mail", "acme-mail-2", "acme-mail-3"]
    assert (await create(bob, "Acme Mail!"))["slug"] == "acme-mail"


async def test_an_archived_project_frees_its_slug(alice: Person) -> None:
    first = await create(alice, slug="acme")
    await archive(alice, first)

    assert (await create(alice, slug="acme"))["slug"] == "acme"
    assert (await read(alice, first))["slug"] == "acme"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Ünïcode Größe", "unicode-groe"),
        ("日本", "project"),
        ("3 Harbours", "project-3-harbours"),
        ("AI", "ai-project"),
        ("  --  ", "project"),
        ("x" * 80, "x" * 40),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_slugs_are_derived(name: str, slug: str) -> None:
    assert fields.derive_slug(name) == slug


@given(name=st.text(min_size=1, max_size=80), taken=st.integers(0, 120))
def test_every_name_gets_a_unique_valid_slug(name: str, taken: int) -> None:
    slugs: set[str] = set()
    for _ in range(taken + 1):
        slug = fields.choose_slug(name, slugs)
        assert re.fullmatch(SLUG, slug)
        assert slug not in slugs
        slugs.add(slug)


async def test_concurrent_requests_get_distinct_slugs(alice: Person) -> None:
    answers = await asyncio.gather(
        *(alice.post(PATH, json={"name": f"n{n}", "slug": "acme"}) for n in range(6)),
        *(alice.post(PATH, json={"name": "Derived"}) for _ in range(6)),
    )
    assert sorted(each.status_code for each in answers[:6]) == [201, 409, 409, 409, 409, 409]
    assert {each.json()["slug"] for each in answers[6:]} == {"derived", *(f"derived-{n}" for n in range(2, 7))}


@pytest.mark.maximum("projects")
async def test_concurrent_requests_cannot_exceed_the_limit(alice: Person) -> None:
    with replaced.object(service, "MAX_PROJECTS", 3):
        answers = await asyncio.gather(*(alice.post(PATH, json={"name": f"n{n}"}) for n in range(6)))
        assert sorted(each.status_code for each in answers) == [201] * 3 + [409] * 3
        refused = next(each.json() for each in answers if each.status_code == 409)
        assert refused["code"] == "project_limit"
        made = next(each.json() for each in answers if each.status_code == 201)
        await archive(alice, made)  # archived projects do not count
        await create(alice, "Another")


async def test_a_test_key_has_separate_projects(alice: Person) -> None:
    live, tried = await create(alice, slug="acme"), await create(alice.test, slug="acme")

    assert tried["account_id"] == live["account_id"] == str(alice.account.id)
    assert (live["livemode"], tried["livemode"]) == (True, False)
    assert [each["id"] for each in (await alice.test.get(PATH)).json()["items"]] == [tried["id"]]
    assert (await alice.get(f"{PATH}/{tried['id']}")).status_code == 404


async def test_the_event_masks_the_mailbox(alice: Person, conn: Conn) -> None:
    made = await create(alice, **ALL)

    [(name, data)] = await published_events(conn, alice.account.id)
    assert (name, data["id"], data["slug"], data["changed"]) == ("project.created", made["id"], "acme", [])
    assert data["default_destination"] == "o***@example.net"


async def test_a_refused_request_publishes_nothing(alice: Person, conn: Conn) -> None:
    await create(alice, slug="acme")
    await alice.post(PATH, json={"name": "Other", "slug": "acme"})

    assert len(await published_events(conn, alice.account.id)) == 1


async def test_an_idempotent_repeat_creates_one_project(alice: Person) -> None:
    answers = [
        await alice.post(PATH, json={"name": "Acme"}, headers={"Idempotency-Key": "once"}) for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert await list_names(alice) == ["Acme"]


async def test_it_needs_the_scope_and_credentials(dana: Person, anyone: Client) -> None:
    refused = await dana.post(PATH, json={"name": "Acme"})
    assert (refused.status_code, refused.json()["scope"]) == (403, "projects:write")
    assert (await anyone.post(PATH, json={"name": "Acme"})).status_code == 401


async def test_members_that_the_service_sets_are_ignored_with_a_warning(alice: Person, bob: Person) -> None:
    foreign = {
        "account_id": str(bob.account.id),
        "id": UNKNOWN_ID,
        "manifest": "x",
        "version": 9,
        "livemode": False,
        "archived_at": "2026-01-01T00:00:00Z",
    }

    made = (await alice.post(PATH, json={"name": "Lander", **foreign})).json()

    shown = {name: made[name] for name in ("account_id", "managed_by", "version", "livemode", "archived_at")}
    assert shown == {
        "account_id": str(alice.account.id),
        "managed_by": None,
        "version": 1,
        "livemode": True,
        "archived_at": None,
    }
    assert made["id"] != foreign["id"]
    assert {each["field"] for each in made["warnings"]} == foreign.keys()

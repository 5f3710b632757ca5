"""The forms: what they change, and what is refused."""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from builders.console.actions import ACTIONS
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.console.visitor import Visitor, action_of, fields_of, heading
from tests.plans import make
from tests.webhooks import make as webhooks

Visit = Callable[[Person], Awaitable[Visitor]]


async def test_a_form_changes_what_was_typed(browser: Visitor, alice: Person, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", note="for the shop")

    assert "The name is changed." in after.text
    assert (await alice.get(f"/v1/aliases/{name}")).json()["note"] == "for the shop"


async def test_a_form_without_a_new_value_changes_nothing(browser: Visitor, alice: Person, name: str) -> None:
    before = (await alice.get(f"/v1/aliases/{name}")).json()
    after = await browser.submit(await browser.open(f"/console/names/{name}"), "name-change")

    assert "Nothing was changed" in after.text
    assert (await alice.get(f"/v1/aliases/{name}")).json() == before


async def test_a_cleared_checkbox_is_false(browser: Visitor, alice: Person, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    await browser.submit(page, "name-change", enabled="false")

    assert (await alice.get(f"/v1/aliases/{name}")).json()["enabled"] is False


async def test_the_mail_to_a_name_is_received_as_events(browser: Visitor, alice: Person, name: str) -> None:
    rule = f"/v1/aliases/{name}/receive-as-event"
    page = await browser.open(f"/console/names/{name}")
    assert "reception-set" not in page.text  # it takes a webhook and a live key
    hook = await webhooks.create(alice, label="mailroom", events=["invoice.created"])
    wanted = {"label": "reader", "key_kind": "live", "preset": "developer_full"}
    key = (await alice.post("/v1/api-keys", json=wanted)).json()
    page = await browser.open(f"/console/names/{name}")
    refused = await browser.submit(page, "reception-set", webhook_id=hook["id"])
    assert refused.status_code == 422
    assert (await alice.get(rule)).status_code == 404

    after = await browser.submit(refused, "reception-set", webhook_id=hook["id"], key_id=key["id"])
    assert "is received as events" in after.text
    found = (await alice.get(rule)).json()
    assert (found["webhook_id"], found["key_id"]) == (hook["id"], key["id"])
    assert fields_of(after, "reception-set")["key_id"] == key["id"]

    ended = await browser.submit(after, "reception-end")
    assert "no longer received as events" in ended.text
    assert (await alice.get(rule)).status_code == 404
    assert "reception-end" not in ended.text


async def test_a_rule_for_mail_takes_a_recent_sign_in(browser: Visitor, alice: Person, name: str) -> None:
    await webhooks.create(alice, label="mailroom", events=["invoice.created"])
    wanted = {"label": "reader", "key_kind": "live", "preset": "developer_full"}
    key = (await alice.post("/v1/api-keys", json=wanted)).json()
    clock.move(timedelta(minutes=11))
    page = await browser.open(f"/console/names/{name}")
    [hook] = (await alice.get(webhooks.PATH)).json()["items"]
    after = await browser.submit(page, "reception-set", webhook_id=hook["id"], key_id=key["id"])

    assert after.status_code == 401
    assert "Sign in again" in after.text
    assert (await alice.get(f"/v1/aliases/{name}/receive-as-event")).status_code == 404


async def test_a_refused_form_keeps_what_was_typed(browser: Visitor, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    after = await browser.submit(page, "name-change", destinations="not an address", note="kept")

    assert after.status_code == 422
    assert "not an address" in after.text
    assert fields_of(after, "name-change")["note"] == "kept"
    assert 'aria-invalid="true"' in after.text


async def test_a_stale_form_can_be_saved_after_comparing(browser: Visitor, alice: Person, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    await alice.patch(f"/v1/aliases/{name}", json={"note": "theirs"})
    compared = await browser.submit(page, "name-change", note="mine")
    await browser.submit(compared, "name-change")

    assert (await alice.get(f"/v1/aliases/{name}")).json()["note"] == "mine"


async def test_a_form_sent_twice_shows_no_secret_again(browser: Visitor, alice: Person) -> None:
    page = await browser.open("/console/webhooks")
    fields = fields_of(page, "webhook-add") | {"label": "orders", "url": "https://93.184.215.14/hooks"}
    answers = [await browser.post_form(action_of(page, "webhook-add"), fields) for _ in range(2)]

    assert [each.status_code for each in answers] == [200, 200]
    assert len((await alice.get("/v1/notifications/webhooks")).json()["items"]) == 1
    assert "was shown already" in answers[1].text


async def test_a_form_that_is_changed_after_a_step_back_is_another_one(
    browser: Visitor, alice: Person, name: str
) -> None:
    page = await browser.open(f"/console/names/{name}")
    await browser.submit(page, "name-change", note="first")
    after = await browser.submit(page, "name-change", note="second")

    assert (after.status_code, heading(after)) == (412, "This was changed since you opened the form")
    assert (await alice.get(f"/v1/aliases/{name}")).json()["note"] == "first"


async def test_a_form_sent_again_leads_to_its_project_and_a_changed_one_to_another(
    browser: Visitor, alice: Person
) -> None:
    page = await browser.open("/console/projects")
    first = await browser.submit(page, "project-add", name="Shop")
    again = await browser.submit(page, "project-add", name="Shop")
    changed = await browser.submit(page, "project-add", name="Shop", description="a second one")
    projects = (await alice.get("/v1/builders/projects")).json()["items"]

    assert (first.status_code, again.url) == (200, first.url)
    assert changed.url != first.url
    assert sorted(each["description"] or "" for each in projects) == ["", "a second one"]


async def test_a_refused_form_can_be_sent_again_with_its_key(browser: Visitor, alice: Person) -> None:
    page = await browser.open("/console/projects")
    refused = await browser.submit(page, "project-add", name="", description="kept")
    made = await browser.submit(page, "project-add", name="Shop", description="kept")

    assert (refused.status_code, made.status_code) == (422, 200)
    assert len((await alice.get("/v1/builders/projects")).json()["items"]) == 1


async def test_a_deletion_can_be_done_after_comparing(browser: Visitor, alice: Person, name: str) -> None:
    page = await browser.open(f"/console/names/{name}")
    await alice.patch(f"/v1/aliases/{name}", json={"note": "theirs"})
    await browser.submit(await browser.submit(page, "name-release"), "name-release")

    assert (await alice.get(f"/v1/aliases/{name}")).json()["status"] == "deleted"


async def test_the_secret_of_a_destination_is_shown_once(browser: Visitor, alice: Person) -> None:
    page = await browser.open("/console/webhooks")
    after = await browser.submit(
        page, "webhook-add", label="orders", url="https://93.184.215.14/hooks", events="alias.*\ndomain.*"
    )
    assert "whsec_" in after.text
    (made,) = (await alice.get("/v1/notifications/webhooks")).json()["items"]
    assert sorted(made["events"]) == ["alias.*", "domain.*"]


async def test_a_minted_key_works(browser: Visitor) -> None:
    page = await browser.submit(await browser.open("/console/keys"), "key-mint", label="laptop")
    found = re.search(r"svc_test_\w{20,}", page.text)
    assert found is not None, page.text

    async with Client(browser.person.service, found[0]) as program:
        assert (await program.get("/v1/me")).status_code == 200


async def test_the_page_of_keys_offers_a_mandate_first_and_full_presets_last(browser: Visitor) -> None:
    text = (await browser.open("/console/keys")).text
    assert text.index("Mint a key for an agent") < text.index("Mint a key with all rights")


async def test_a_key_is_minted_with_a_mandate(browser: Visitor, alice: Person) -> None:
    typed = {"label": "agent", "toolsets": ["names", "plans"], "max_total_per_plan": "20.00 USD"}
    page = await browser.submit(await browser.open("/console/keys"), "agent-mint", **typed)
    assert "svc_test_" in page.text
    [made] = [each for each in (await alice.get("/v1/api-keys")).json()["items"] if each["label"] == "agent"]
    assert made["mandate"]["toolsets"] == ["names", "plans"]
    assert made["mandate"]["read_only"]
    assert made["mandate"]["max_total_per_plan"] == [{"amount": "20.00", "currency": "USD"}]
    assert made["expires_at"]


async def test_a_form_of_an_agent_that_is_sent_again_a_minute_later_acts_once(browser: Visitor) -> None:
    page = await browser.open("/console/keys")
    fields = {**fields_of(page, "agent-mint"), "label": "agent", "toolsets": "names"}
    first = await browser.post_form(action_of(page, "agent-mint"), fields)
    clock.move(timedelta(minutes=1))
    second = await browser.post_form(action_of(page, "agent-mint"), fields)
    assert (first.status_code, second.status_code) == (200, 200)


@pytest.mark.parametrize("days", ["0", "3651", "soon"])
async def test_a_key_without_a_number_of_days_is_not_minted(browser: Visitor, days: str) -> None:
    typed = {"label": "agent", "toolsets": ["names"], "days": days}
    page = await browser.submit(await browser.open("/console/keys"), "agent-mint", **typed)
    assert page.status_code == 422
    assert "Write a number of days" in page.text


async def test_a_mandate_without_a_toolset_is_explained(browser: Visitor) -> None:
    page = await browser.submit(await browser.open("/console/keys"), "agent-mint", label="agent")
    assert page.status_code == 422
    assert 'class="error"' in page.text


async def test_a_value_that_is_another_path_is_refused(browser: Visitor, alice: Person) -> None:
    made = await webhooks.create(alice)
    page = await browser.open(f"/console/webhooks/{made['id']}")
    after = await browser.submit(page, "webhook-test", webhook_id=f"{made['id']}/rotate-secret?x=")

    assert after.status_code == 404


async def test_a_time_of_a_field_is_read_in_utc(browser: Visitor, alice: Person) -> None:
    made = await webhooks.create(alice)
    page = await browser.open(f"/console/webhooks/{made['id']}")
    since = (clock.now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    after = await browser.submit(page, "webhook-replay", since=since)

    assert "Nothing is sent again: no delivery of that time has this state." in after.text, after.text


async def test_support_changes_nothing_that_it_may_not(alice: Person, name: str) -> None:
    async with Visitor(alice, await alice.admit_support()) as support:
        page = await support.open(f"/console/names/{name}")
        after = await support.submit(page, "name-change", note="by support")
    assert after.status_code == 403
    assert (await alice.get(f"/v1/aliases/{name}")).json()["note"] is None


async def test_a_name_is_planned_without_a_program(browser: Visitor, domain: str) -> None:
    await catch_up(browser.person.service.api.state.catalog)
    found = await browser.open(f"/search?q=ada+{domain.partition('.')[0]}")
    page = await browser.open(f"/console/claim?local_part=ada&domain={domain}")
    plan = await browser.submit(page, "claim", destination="ada@example.net")

    assert found.status_code == 200
    assert heading(plan) == "Review: console ready"
    assert f"ada@{domain}" in plan.text


async def test_several_names_are_changed_by_a_plan(browser: Visitor, alice: Person, domain: str) -> None:
    kept = {"note": "kept", "block": ["eve@example.net"], "pause_until": "2036-01-01T09:00:00Z", "reply": True}
    await make.apply(alice, *(make.alias(f"n{at}@{domain}", key=f"n{at}", **kept) for at in range(3)))
    names = (await alice.get("/v1/aliases")).json()["items"]
    page = await browser.open("/console/names")
    plan = await browser.submit(
        page, "names-change", ids=[each["id"] for each in names[:2]], destinations="new@example.net"
    )

    assert heading(plan) == "Review: acme-mail ready"
    (found,) = (await alice.get("/v1/sandbox/plans", params={"status": "ready"})).json()["items"]
    actions = (await alice.get(f"/v1/sandbox/plans/{found['id']}")).json()["actions"]
    assert [each["changed_fields"] for each in actions if each["action"] == "update"] == [["destinations"]] * 2


@pytest.mark.usefixtures("name")
async def test_a_change_of_no_name_is_refused(browser: Visitor) -> None:
    after = await browser.submit(await browser.open("/console/names"), "names-change", note="x", ids=[])

    assert after.status_code == 422
    assert "Select 1 to 200 names." in after.text


async def test_a_change_of_a_name_that_is_not_yours_is_refused_whole(
    browser: Visitor, alice: Person, bob: Person, domain: str
) -> None:
    mine = await make.apply(alice, make.alias(f"ada@{domain}"))
    theirs = await make.apply(bob, make.alias(f"bob@{domain}"))
    ids = [each["steps"][0]["resource_id"] for each in (mine, theirs)]
    after = await browser.submit(await browser.open("/console/names"), "names-change", ids=ids, note="x")

    assert after.status_code == 422
    assert "could not be read" in after.text
    assert not (await alice.get("/v1/sandbox/plans", params={"status": "ready"})).json()["items"]


@pytest.mark.parametrize("number", ["9" * 5000, "\u0663", "1e3", "-1", "12.5"])
async def test_a_wrong_number_is_explained(browser: Visitor, number: str) -> None:
    page = await browser.open("/console/projects")
    after = await browser.submit(page, "project-add", name="Shop", alias_limit=number)

    assert after.status_code == 422


async def test_every_form_names_an_operation(browser: Visitor) -> None:
    table = browser.person.service.api.state.table
    missing = [name for name, each in ACTIONS.items() if each.method not in table.find(each.path)[0]]

    assert not missing


async def test_two_names_that_differ_in_a_separator_are_two(browser: Visitor, alice: Person, domain: str) -> None:
    await catch_up(browser.person.service.api.state.catalog)
    planned = []
    for local_part in ("ada.b", "ada-b"):
        page = await browser.open(f"/console/claim?local_part={local_part}&domain={domain}")
        await browser.submit(page, "claim", destination="ada@example.net")
        (found,) = (await alice.get("/v1/sandbox/plans", params={"status": "ready"})).json()["items"]
        plan = (await alice.get(f"/v1/sandbox/plans/{found['id']}")).json()
        planned.append([each["action"] for each in plan["actions"]])
        await make.promote(alice, plan)

    assert planned == [["create"], ["create"]]
    assert len({each["address"] for each in (await alice.get("/v1/aliases")).json()["items"]}) == 2


async def test_rights_that_a_key_does_not_use_are_removed_on_the_page(alice: Person) -> None:
    made = await alice.post("/v1/api-keys", json={"label": "old", "key_kind": "live", "preset": "developer_full"})
    clock.move(timedelta(days=90))
    async with Visitor(alice, await alice.sign_in()) as browser:
        page = await browser.open("/console/keys")
        assert "Not used for 90 days" in page.text
        key_id = made.json()["id"]
        unused = (await browser.get(f"/v1/api-keys/{key_id}")).json()["unused_scopes"]
        assert (await browser.submit(page, "key-narrow", key_id=key_id)).status_code == 200
        left = (await browser.get(f"/v1/api-keys/{key_id}")).json()
    assert unused
    assert (left["unused_scopes"], set(left["scopes"]) & set(unused)) == ([], set())

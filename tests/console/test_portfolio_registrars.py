"""Registrars in the console: connections, syncs, the inventory, charges, and differences with their fixes."""

import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from builders.app import Service
from builders.console.fixes import may_fix
from builders.demo.registrars.fake import FakeAccount, FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.console.money import LIKE_AMOUNT, amounts_in, amounts_of
from tests.console.portfolio_scene import add
from tests.console.registrar_scene import CHARGES, charge, charges, differ, findings, split_charge
from tests.console.visitor import Visitor, fields_of, heading
from tests.plans.approval.make import join_team
from tests.registrars.fakes import FAKES

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE = "/console/portfolio/registrars"
CONNECT = "/console/test/portfolio/connect"
PAGES = (
    "registrars",
    "connect?provider=porkbun",
    "registrars/inventory",
    "registrars/charges",
    "registrars/reconcile",
)
# The forms that each role sees on the pages of registrars.
BOOKS = {"charges-sync", "charges-apply", "charge-match", "charge-split", "charge-unsplit", "charge-ignore"}
SYNCS = {"registrars-sync", "findings-fix"}
CONNECTS = {"registrar-connect", "registrar-disconnect"}
FORMS = {
    "admin": BOOKS | SYNCS | CONNECTS,
    "manager": BOOKS | SYNCS,
    "accountant": BOOKS,
    "viewer": set[str](),
}


@pytest.fixture
async def fake(service: Service) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Run a stand-in of Porkbun that the service may call; return its address and its credentials."""
    with FakeServer() as server:
        stand_in = FAKES["porkbun"](FakeAccount())
        async with Outbound(Settings.model_validate({"outbound_allow": [server.address]})) as outbound:
            state = service.api.state
            before, state.outbound = state.outbound, outbound
            yield server.add(stand_in), dict(stand_in.credentials)
            state.outbound = before


async def test_a_registrar_is_connected_with_its_own_fields(
    browser: Visitor, fake: tuple[str, dict[str, str]]
) -> None:
    address, credentials = fake
    page = await browser.open(f"{CONNECT}?provider=porkbun")
    typed = {f"credential.{name}": value for name, value in credentials.items()}
    done = await browser.submit(page, "registrar-connect", base_url=address, **typed)

    assert "It is connected." in done.text, done.text
    assert "porkbun.com, Account, API access" in page.text
    assert not [value for value in credentials.values() if value in done.text]


async def test_credentials_that_the_registrar_refuses_are_not_saved(
    browser: Visitor, fake: tuple[str, dict[str, str]]
) -> None:
    page = await browser.open(f"{CONNECT}?provider=porkbun")
    typed = {"credential.api_key": "pk1_wrong-wrong", "credential.secret_api_key": "sk1_wrong-wrong"}
    refused = await browser.submit(page, "registrar-connect", base_url=fake[0], **typed)

    assert (refused.status_code, heading(refused)) == (424, "Connect Porkbun")
    assert "wrong-wrong" not in refused.text
    assert "No registrar is connected" in (await browser.open("/console/test/portfolio/registrars")).text


async def test_a_registrar_without_an_api_is_connected_and_disconnected(browser: Visitor) -> None:
    page = await browser.open("/console/portfolio/connect?provider=manual")
    done = await browser.submit(page, "registrar-connect", provider="old-registrar")
    assert done.status_code == 200, done.text
    gone = await browser.submit(done, "registrar-disconnect")

    assert "old-registrar" in done.text
    assert "No registrar is connected" in gone.text


async def test_a_sync_shows_its_progress(browser: Visitor, alice: Person) -> None:
    await differ(alice)
    run = await browser.submit(await browser.open(PAGE), "registrars-sync")

    assert heading(run) == "Sync of domains queued"
    assert 'data-refresh="2"' in run.text
    charged = await browser.submit(await browser.open(PAGE), "charges-sync")
    assert heading(charged).startswith("Sync of charges")


async def test_the_inventory_is_filtered_in_the_address(browser: Visitor, alice: Person) -> None:
    await differ(alice)
    page = await browser.open(f"{PAGE}/inventory?matched=false&provider=")

    assert "quay.org" in page.text
    assert "harbour.com" not in page.text


async def test_differences_have_both_values_the_most_severe_first(browser: Visitor, alice: Person) -> None:
    await differ(alice)
    page = await browser.open(f"{PAGE}/reconcile")
    shown = re.findall(r'<button class="second" name="only" value="([0-9a-f-]+)">', page.text)

    async with alice.browser() as api:
        report = (await api.get("/v1/portfolio/registrars/reconcile")).json()
    assert shown == [each["id"] for each in report["findings"]]
    assert {("98.76", "USD"), ("12.34", "USD")} <= amounts_of(page).keys()


async def test_one_difference_is_fixed_by_its_button(browser: Visitor, alice: Person) -> None:
    await differ(alice)
    before = await findings(alice)
    page = await browser.open(f"{PAGE}/reconcile?min_severity=info")
    done = await browser.submit(page, "findings-fix", only=before["missing_in_portfolio"]["id"])

    assert f'<a href="{PAGE}/reconcile?min_severity=info">Differences from the registrars</a>' in done.text
    assert (await findings(alice)).keys() == before.keys() - {"missing_in_portfolio"}


async def test_selected_differences_are_fixed_at_once(browser: Visitor, alice: Person) -> None:
    await differ(alice)
    before = await findings(alice)
    wanted = ["missing_in_portfolio", "expiry_mismatch"]
    page = await browser.open(f"{PAGE}/reconcile")
    await browser.submit(page, "findings-fix", ids=[before[each]["id"] for each in wanted])

    assert (await findings(alice)).keys() == before.keys() - set(wanted)


@pytest.mark.parametrize("typed", [{}, {"only": "01a20000-0000-7000-8000-000000000000"}])
async def test_a_fix_of_nothing_is_explained(browser: Visitor, alice: Person, typed: dict[str, str]) -> None:
    await differ(alice)
    done = await browser.submit(await browser.open(f"{PAGE}/reconcile"), "findings-fix", **typed)

    assert done.status_code == 422


async def test_a_charge_is_matched_by_hand(browser: Visitor, alice: Person) -> None:
    await charge(alice)
    page = await browser.open(f"{PAGE}/charges?state=unmatched")
    await browser.submit(page, "charge-match", domain="ferry.com")

    assert (await charges(alice))["2"]["state"] == "applied"


async def test_another_button_of_a_row_acts_after_a_step_back(browser: Visitor, alice: Person) -> None:
    """The buttons of a row have one form, and so one key."""
    await charge(alice)
    page = await browser.open(f"{PAGE}/charges?state=unmatched")
    await browser.submit(page, "charge-match", domain="ferry.com")
    done = await browser.submit(page, "charge-ignore", domain="ferry.com")

    assert done.status_code == 200, done.text
    assert (await charges(alice))["2"]["state"] == "ignored"


async def test_a_charge_is_ignored_and_taken_back(browser: Visitor, alice: Person) -> None:
    await charge(alice)
    await browser.submit(await browser.open(f"{PAGE}/charges?state=unmatched"), "charge-ignore")
    assert (await charges(alice))["2"]["state"] == "ignored"
    await browser.submit(await browser.open(f"{PAGE}/charges?state=ignored"), "charge-ignore")

    assert (await charges(alice))["2"]["state"] == "unmatched"


async def test_a_charge_is_split_and_the_split_taken_back(browser: Visitor, alice: Person) -> None:
    await charge(alice)
    async with alice.browser() as api:
        await add(api, "gull.com")
    page = await browser.open(f"{PAGE}/charges?state=unmatched")
    typed = " ferry.com 20.00\n\ngull.com   25.67 usd\n"
    done = await browser.submit(page, "charge-split", parts=typed)
    assert "The charge is split, and its parts are booked." in done.text
    [shown] = await of_order(alice, "2", state="split")
    parts = await of_order(alice, "2", state="applied")
    assert sorted((each["domain"], each["total"]["amount"]) for each in parts) == [
        ("ferry.com", "20.00"),
        ("gull.com", "25.67"),
    ]
    await browser.submit(await browser.open(f"{PAGE}/charges"), "charge-unsplit")
    [back] = await of_order(alice, "2")
    assert (back["id"], back["state"]) == (shown["id"], "unmatched")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("ferry.com 45.67", "at least 2 items"),
        ("ferry.com\ngull.com 45.67", "Line 1: write a domain and its amount"),
        ("ferry.com 20.00\ngull.com 25.00", "45.00 USD, which is 0.67 USD less than the total of the charge"),
        ("ferry.com 20.00\ngull.com 25.67 EUR", "The charge is in USD"),
        ("ferry.com 20.00\nferry.com 25.67", "An earlier part is for ferry.com, too."),
        ("ferry.com 20.00\ngull.com 25.67", "There is no such domain: part 2"),
    ],
)
async def test_a_split_that_is_refused_is_explained_beside_what_was_typed(
    browser: Visitor, alice: Person, typed: str, message: str
) -> None:
    await charge(alice)
    page = await browser.open(f"{PAGE}/charges?state=unmatched")
    done = await browser.submit(page, "charge-split", parts=typed)

    assert message in html.unescape(done.text), done.text
    assert fields_of(done, "charge-split")["parts"] == typed
    assert (await charges(alice))["2"]["state"] == "unmatched"


async def test_the_sums_of_split_charges_are_those_of_the_api(browser: Visitor, alice: Person) -> None:
    await split_charge(alice)
    page = await browser.open(f"{PAGE}/charges")
    async with alice.browser() as api:
        reply = (await api.get(CHARGES)).json()

    shown = {**amounts_in(reply["totals"]), **amounts_in([each["total"] for each in reply["items"]])}
    assert amounts_of(page).keys() == shown.keys()
    assert page.text.count("part of a charge</span>") == 2


async def of_order(owner: Person, order: str, **query: str) -> list[dict[str, Any]]:
    async with owner.browser() as api:
        found = (await api.get(CHARGES, params=query)).json()["items"]
    return [each for each in found if each["order_id"] == order]


async def test_charges_with_a_certain_domain_are_booked_at_once(browser: Visitor, alice: Person) -> None:
    await charge(alice)
    page = await browser.open(f"{PAGE}/charges")
    await browser.submit(page, "charges-apply")

    assert {order: each["state"] for order, each in (await charges(alice)).items()} == {
        "1": "applied",
        "2": "unmatched",
    }
    assert {("12.34", "USD"), ("45.67", "USD"), ("58.01", "USD")} <= amounts_of(page).keys()


@pytest.mark.parametrize("role", FORMS)
async def test_a_role_sees_the_forms_that_it_may_send(
    visit: Visit, alice: Person, charlie: Person, role: str
) -> None:
    await differ(alice)
    await split_charge(alice)
    await join_team(alice, charlie, role)
    browser = await visit(charlie)
    pages = [await browser.open(f"/console/of/{alice.account.id}/portfolio/{each}") for each in PAGES]
    shown = {name for page in pages for name in re.findall(r"/do/([\w-]+)\"", page.text)}

    assert shown == FORMS[role]
    amounts = [each for page in pages for each in LIKE_AMOUNT.findall(page.text)]
    assert bool(amounts) is (role != "viewer")


@pytest.mark.parametrize("provider", ["../../me", "porkbun/x", "porkbun?connection=x", "PORKBUN"])
async def test_a_registrar_is_no_other_address(browser: Visitor, provider: str) -> None:
    page = await browser.open("/console/portfolio/connect?provider=porkbun")
    done = await browser.submit(page, "registrar-connect", provider=provider)

    assert done.status_code == 422


async def test_an_auth_code_is_requested_by_no_button() -> None:
    action = {"method": "POST", "path": "/v1/portfolio/domains/1/auth-code", "body": None}

    assert not may_fix({"suggested_action": action})
    assert not may_fix({"suggested_action": None})
    assert may_fix({"suggested_action": {**action, "path": "/v1/portfolio/domains"}})

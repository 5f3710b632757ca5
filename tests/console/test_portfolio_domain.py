"""One domain of a portfolio, as a page."""

import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest
from httpx import Response

from builders.console import views
from tests.cast import Person
from tests.console import registrar_scene
from tests.console.import_forms import held_domain
from tests.console.money import LIKE_AMOUNT, amounts_in, amounts_of
from tests.console.portfolio_scene import add, fill, in_days
from tests.console.scenes import Scene
from tests.console.visitor import Visitor, fields_of, heading
from tests.plans.approval.make import join_team
from tests.portfolio.finance.make import usd
from tests.portfolio.transfers.make import PLANTED

Visit = Callable[[Person], Awaitable[Visitor]]
LIST = "/v1/portfolio/domains"
SUMS = ("total_cost", "cost_basis", "carrying_cost", "refunds", "net_position", "income", "breakeven_price")


async def read(owner: Person, domain_id: str, part: str = "") -> dict[str, Any]:
    async with owner.browser() as api:
        found: dict[str, Any] = (await api.get(f"{LIST}/{domain_id}{part}")).json()
    return found


async def test_each_figure_is_that_of_the_api(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    domain, finance = await read(alice, domain_id), await read(alice, domain_id, "/finance")
    shown = amounts_of(page)

    assert heading(page) == "harbour.com owned"
    assert finance["net_position"] == usd("-1166.78")
    assert not amounts_in([finance[name] for name in SUMS]) - shown
    booked = [{name: each[name] for name in ("signed_amount", "base_amount")} for each in finance["entries"]]
    assert not amounts_in(booked) - shown
    assert shown.keys() <= amounts_in([domain, finance]).keys()


FORMULAS = ("Total cost", "Net", "Break-even price", "Unrealized profit")
INPUT = re.compile(r'class="line">(\S) [^<]*(?:<span class="money">(-?[\d.,]+)|: (-?[\d.]+) %)')


def results(page: Response) -> dict[str, tuple[Decimal, Decimal]]:
    """Return each figure with the result of its formula, from the inputs that the page shows."""
    found = {}
    for label in FORMULAS:
        [(shown, inputs)] = re.findall(rf"<dt>{label}</dt><dd>(.*?)<details>(.*?)</details>", page.text, re.DOTALL)
        figure, result = re.search(r"-?\d+\.\d\d", shown.replace(",", "")), Decimal()
        for sign, amount, percent in INPUT.findall(inputs):
            factor = Decimal(percent or 100) / 100
            result = result / factor if sign == "÷" else result * factor
            result += {"+": 1, "\N{MINUS SIGN}": -1}.get(sign, 0) * Decimal(amount.replace(",", "") or 0)
        if figure is not None:
            found[label] = (Decimal(figure[0]), result.quantize(Decimal("0.01")))
    return found


@pytest.mark.parametrize(
    ("members", "sale"),
    [
        ({}, None),
        ({"ownership": "consigned", "counterparty": "Ann", "revenue_share": "40"}, None),
        ({}, {"gross": usd("2000.00"), "commission_rate": "0.15"}),
    ],
)
async def test_a_formula_adds_up(
    browser: Visitor, alice: Person, members: dict[str, Any], sale: dict[str, Any] | None
) -> None:
    entries = [("acquisition", "321.10"), ("renewal", "8.76"), ("refund", "1.23"), ("parking_revenue", "7.65")]
    async with alice.browser() as api:
        value = {"estimated_value": usd("2345.67")}
        domain_id = await add(api, "harbour.com", *entries, ("lease_income", "5.67"), **value, **members)
        if sale is not None:
            answer = await api.patch(f"{LIST}/{domain_id}/finance", json={"sale": sale})
            assert answer.status_code == 200, answer.text
    found = results(await browser.open(f"/console/portfolio/domains/{domain_id}"))

    assert found.keys() == {*FORMULAS} - ({"Unrealized profit"} if sale else set())
    assert {label: figure for label, (figure, _) in found.items()} == {
        label: result for label, (_, result) in found.items()
    }


async def test_a_chart_of_costs_and_income_stands_above_its_entries(browser: Visitor, alice: Person) -> None:
    page = await browser.open(f"/console/portfolio/domains/{await fill(alice)}")

    assert '<title id="growth-title">Cumulative cost and income</title>' in page.text
    assert page.text.count("<polyline") == 2
    assert '<h2 id="ledger">Ledger</h2>' in page.text
    assert re.findall(r'"In USD"[^>]*>(-?)<span class="money">([\d.,]+)', page.text) == [
        ("-", "11.13"),
        ("", "78.91"),
        ("-", "1,234.56"),
    ]


async def test_a_chart_of_a_part_of_the_entries_says_so(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        domain_id = await add(api, "harbour.com", *[("parking_revenue", "0.01")] * 100)
        for _ in range(5):
            entries = {"entries_add": [{"kind": "parking_revenue", "amount": usd("0.01")}] * 100}
            assert (await api.patch(f"{LIST}/{domain_id}/finance", json=entries)).is_success
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")

    assert ">Cumulative cost and income of the newest 500 entries</title>" in page.text


async def test_the_advice_gives_its_reasons(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    advice = (await read(alice, domain_id, "/finance"))["recommendation"]

    assert f">{advice['verdict']}</span>" in page.text
    assert all(f"<li>{each.replace('_', ' ')}</li>" in page.text for each in advice["reasons"])


async def test_dates_are_in_order(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        dates = {"registered_on": "2020-02-03", "acquired_on": "2022-05-06", "expires_at": in_days(30)}
        domain_id = await add(api, "harbour.com", **dates)
    text = (await browser.open(f"/console/portfolio/domains/{domain_id}")).text
    places = [text.index(each) for each in ("2020-02-03", "2022-05-06", "</time> Expires", "Free for everybody")]

    assert places == sorted(places)


async def test_an_entry_is_added_and_voided(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    added = await browser.submit(
        page, "entry-add", kind="privacy", amount="3.21 EUR", occurred_on="2026-01-05", memo="of the year"
    )
    [entry] = [each for each in (await read(alice, domain_id, "/finance"))["entries"] if each["memo"]]
    expected = {"amount": "3.21", "currency": "EUR"}
    assert (entry["amount"], entry["occurred_on"], entry["kind"]) == (expected, "2026-01-05", "privacy")

    after = await browser.submit(added, "entry-void", entry_id=entry["id"])
    assert "The entry is void." in after.text
    [void] = [each for each in (await read(alice, domain_id, "/finance"))["entries"] if each["memo"]]
    assert void["voided_at"] is not None


async def test_a_renewal_is_recorded(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    before = await read(alice, domain_id)
    await browser.submit(page, "renewal-record", amount="10.99", years="2")

    assert int((await read(alice, domain_id))["expires_at"][:4]) == int(before["expires_at"][:4]) + 2


async def test_an_accountant_records_a_sale(visit: Visit, alice: Person, charlie: Person) -> None:
    domain_id = await fill(alice)
    await join_team(alice, charlie, "accountant")
    visitor = await visit(charlie)
    page = await visitor.open(f"/console/of/{alice.account.id}/portfolio/sale/{domain_id}")
    typed = {"sale.gross": "2000 USD", "sale.commission_rate": "0.15", "sale.venue": "Sedo", "sale.buyer_ref": ""}
    after = await visitor.submit(page, "sale-record", **typed)
    assert (await read(alice, domain_id))["status"] == "sold"
    assert "1,700.00" in after.text  # the net of the sale
    assert "Sedo" in after.text
    assert "/do/sale-record" not in after.text


async def test_a_domain_is_changed(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    typed = {"renewal_price": "15.50 EUR", "estimated_value": "", "tags": "geo\nbrand", "auto_renew": "false"}
    await browser.submit(page, "portfolio-domain-change", **typed, expires_at="2031-02-03T04:05")
    found = await read(alice, domain_id)

    assert found["renewal_price"] == {"amount": "15.50", "currency": "EUR"}
    assert (found["estimated_value"], found["auto_renew"], found["notes"]) == (None, False, "Ask the broker.")
    assert (found["tags"], found["expires_at"]) == (["geo", "brand"], "2031-02-03T04:05:00Z")


async def test_a_field_that_nobody_else_changed_is_saved(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    async with alice.browser() as api:
        await api.patch(f"{LIST}/{domain_id}", json={"notes": "theirs"})
    await browser.submit(page, "portfolio-domain-change", folder="Mine")
    found = await read(alice, domain_id)

    assert (found["folder"], found["notes"]) == ("Mine", "theirs")


@pytest.mark.parametrize("amount", ["", "many", "1.2.3 USD", "12.34 DOLLARS", "-1"])
async def test_a_wrong_amount_is_explained_and_kept(browser: Visitor, alice: Person, amount: str) -> None:
    page = await browser.open(f"/console/portfolio/domains/{await fill(alice)}")
    after = await browser.submit(page, "entry-add", amount=amount, memo="kept")

    assert after.status_code == 422
    assert fields_of(after, "entry-add")["memo"] == "kept"


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    domain_id = await fill(alice)
    await join_team(alice, charlie, "viewer")
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/domains/{domain_id}")

    assert "Ask the broker." in page.text
    assert not LIKE_AMOUNT.findall(page.text)
    assert "/do/entry-add" not in page.text


FORMS_OF_ROLES = {
    "admin": {"entry-add", "entry-void", "renewal-record", "portfolio-domain-change", "auth-code"},
    "manager": {"entry-add", "entry-void", "renewal-record", "portfolio-domain-change"},
    "accountant": {"entry-add", "entry-void", "renewal-record"},
    "viewer": set[str](),
}


@pytest.mark.parametrize("role", FORMS_OF_ROLES)
async def test_a_role_sees_the_forms_that_the_api_accepts_of_it(
    visit: Visit, alice: Person, charlie: Person, role: str
) -> None:
    domain_id = await fill(alice)
    await join_team(alice, charlie, role)
    visitor = await visit(charlie)
    page = await visitor.open(f"/console/of/{alice.account.id}/portfolio/domains/{domain_id}")

    assert page.status_code == 200
    assert {*re.findall(r"/do/([a-z-]+)", page.text)} - {"sign-out"} == FORMS_OF_ROLES[role]


async def test_the_auth_code_is_shown_once_and_its_reason_is_recorded(browser: Visitor, scene: Scene) -> None:
    await held_domain(scene)
    page = await browser.open(f"/console/portfolio/domains/{scene.made['id']}")
    shown = await browser.submit(page, "auth-code", reason="Sold to Dana.")
    async with scene.alice.browser() as api:
        [entry] = (await api.get("/v1/account/audit", params={"action": "auth_code.requested"})).json()["items"]

    assert PLANTED in shown.text
    assert entry["about"]["reason"] == "Sold to Dana."
    assert PLANTED not in (await browser.open(f"/console/portfolio/domains/{scene.made['id']}")).text


@pytest.fixture
async def held_id(alice: Person) -> str:
    """Return a domain whose price at its registrar is another."""
    await registrar_scene.differ(alice)
    return str((await read(alice, "pier.net"))["id"])


def fact(page: Response, label: str) -> str:
    """Return what the portfolio and the registrar know of a domain, as the table has it."""
    [row] = re.findall(rf'<th scope="row">{label}</th>(.*?)</tr>', page.text, re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", row).split())


async def test_the_facts_of_the_registrar_stand_beside_ones_own(
    browser: Visitor, alice: Person, held_id: str
) -> None:
    page = await browser.open(f"/console/portfolio/domains/{held_id}")
    async with alice.browser() as api:
        found = await api.get("/v1/portfolio/registrars/inventory", params={"domain_id": held_id})
    [listed] = found.json()["items"]

    assert fact(page, "Renewal price") == "98.76 USD 12.34 USD different"
    assert fact(page, "Expires") == " ".join([views.day(listed["expires_at"])] * 2)


async def test_a_domain_that_no_registrar_lists_has_no_facts_of_one(browser: Visitor, alice: Person) -> None:
    page = await browser.open(f"/console/portfolio/domains/{await fill(alice)}")

    assert "At the registrar" not in page.text


async def test_a_viewer_sees_facts_of_the_registrar_without_a_price(
    visit: Visit, alice: Person, charlie: Person, held_id: str
) -> None:
    await join_team(alice, charlie, "viewer")
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/domains/{held_id}")

    assert "At the registrar" in page.text
    assert not LIKE_AMOUNT.findall(page.text)


async def test_the_history_says_who_changed_what(visit: Visit, alice: Person, charlie: Person) -> None:
    domain_id = await fill(alice)
    await join_team(alice, charlie, "viewer")
    async with alice.browser() as api:
        for at in range(11):
            assert (await api.patch(f"{LIST}/{domain_id}", json={"folder": f"Folder {at}"})).is_success
        priced = {"asking_price": "987.65", "currency": "USD"}
        assert (await api.patch(f"{LIST}/{domain_id}", json=priced)).is_success
    own, member = await visit(alice), await visit(charlie)
    page = await own.open(f"/console/portfolio/domains/{domain_id}")
    assert re.findall(r'"(?:What|Before|After|By)"[^>]*>([^<]*)', page.text)[2:4] == [
        *("987.65 USD", alice.account.email),
    ]

    assert "Folder 0" not in page.text
    assert "Folder 0" in (await own.open(f"/console/portfolio/history/{domain_id}")).text
    for path in ("domains", "history"):
        shown = await member.open(f"/console/of/{alice.account.id}/portfolio/{path}/{domain_id}")
        assert "prices, which your role does not see" in shown.text
        assert "987.65" not in shown.text

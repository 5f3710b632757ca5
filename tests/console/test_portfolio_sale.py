"""A sale with instalments, fees and refunds: recorded, changed, received later, and void."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from builders.portfolio.ledger.records import MAX_TERMS
from tests.cast import Person
from tests.changes import MOST_S
from tests.console.visitor import Visitor, heading
from tests.loop_time import loop_time
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
SOLD = {
    "sale.gross": "$1,000",
    "sale.sold_on": "2026-11-01",
    "sale.fees": "escrow fee 25.00\nTax 10 USD 2026-11-02",
    "sale.installments": "2026-11-20 400.00\n2026-12-20 $300",
    "sale.venue": "Sedo",
}


@pytest.fixture
async def domain_id(alice: Person) -> str:
    async with alice.browser() as api:
        answer = await api.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
    return str(answer.json()["id"])


async def read(owner: Person, domain_id: str) -> Any:
    async with owner.browser() as api:
        return (await api.get(f"/v1/portfolio/domains/{domain_id}/finance")).json()


async def record(browser: Visitor, domain_id: str, **typed: str) -> httpx.Response:
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    return await browser.submit(page, "sale-record", **{**SOLD, **typed})


async def test_a_sale_is_recorded_with_instalments_and_fees(
    browser: Visitor, alice: Person, domain_id: str
) -> None:
    done = await record(browser, domain_id)
    finance = await read(alice, domain_id)
    fees = {each["kind"]: each["amount"]["amount"] for each in finance["entries"]}

    assert "harbour.com" in heading(done)
    assert [each["on"] for each in finance["sale"]["installments"]] == ["2026-11-20", "2026-12-20"]
    assert finance["sale"]["outstanding"] == {"amount": "700.00", "currency": "USD"}
    assert (fees["escrow_fee"], fees["tax"]) == ("25.00", "10.00")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("sale.installments", "400.00 on Monday"),
        ("sale.installments", "2026-11-20"),
        ("sale.fees", "25.00"),
        ("sale.fees", "bribe 25.00"),
    ],
)
async def test_a_line_that_is_not_understood_is_named(
    browser: Visitor, alice: Person, domain_id: str, field: str, text: str
) -> None:
    refused = await record(browser, domain_id, **{field: f"{SOLD[field]}\n{text}"})

    assert (refused.status_code, "Line 3 is not understood" in refused.text) == (422, True)
    assert text in refused.text  # nothing typed is lost
    assert (await read(alice, domain_id))["sale"] is None


@pytest.mark.parametrize("line", ["2026-12-01{}received{}\x00", "escrow fee{}received{}25.00 USD{}x"])
@pytest.mark.parametrize("field", ["sale.installments", "sale.fees"])
async def test_a_line_of_many_blanks_takes_no_longer(
    browser: Visitor, domain_id: str, field: str, line: str
) -> None:
    text = line.replace("\x00", "x").replace("{}", " " * 4_000)
    with loop_time() as loop:
        refused = await record(browser, domain_id, **{field: text})

    assert refused.status_code == 422
    assert loop.seconds < MOST_S


async def test_blanks_between_the_words_of_a_line_do_not_count(
    browser: Visitor, alice: Person, domain_id: str
) -> None:
    await record(browser, domain_id, **{"sale.installments": "2026-12-01   \t 400.00  USD"})

    assert [each["on"] for each in (await read(alice, domain_id))["sale"]["installments"]] == ["2026-12-01"]


@pytest.mark.parametrize(("lines", "status"), [(MAX_TERMS, 200), (MAX_TERMS + 1, 422)])
async def test_a_sale_has_a_largest_number_of_lines(
    browser: Visitor, domain_id: str, lines: int, status: int
) -> None:
    text = "\n".join(["2026-12-01 1.00 USD"] * lines)
    answer = await record(browser, domain_id, **{"sale.installments": text})

    assert (answer.status_code, f"at most {MAX_TERMS} lines" in answer.text) == (status, status == 422)


async def test_an_instalment_is_received_later(browser: Visitor, alice: Person, domain_id: str) -> None:
    await record(browser, domain_id)
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    done = await browser.submit(page, "instalment-receive", received_on="2026-11-21")
    sale = (await read(alice, domain_id))["sale"]

    assert "The instalment is booked." in done.text
    assert [each["received_on"] for each in sale["installments"]] == ["2026-11-21", None]
    assert sale["outstanding"]["amount"] == "300.00"


async def test_a_change_of_a_sale_keeps_what_the_form_does_not_show(
    browser: Visitor, alice: Person, domain_id: str
) -> None:
    await record(browser, domain_id)
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    await browser.submit(page, "sale-record", **{"sale.buyer_ref": "Dana"})
    finance = await read(alice, domain_id)

    assert (finance["sale"]["buyer_ref"], finance["sale"]["venue"]) == ("Dana", "Sedo")
    assert len(finance["sale"]["installments"]) == 2
    assert "escrow_fee" in {each["kind"] for each in finance["entries"] if not each["voided_at"]}


async def test_a_form_of_a_sale_that_changes_nothing_says_so(browser: Visitor, domain_id: str) -> None:
    await record(browser, domain_id)
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    same = await browser.submit(page, "sale-record")

    assert (same.status_code, "Nothing was changed" in same.text) == (422, True)


async def test_money_is_returned_to_the_buyer(browser: Visitor, alice: Person, domain_id: str) -> None:
    await record(browser, domain_id)
    page = await browser.open(f"/console/portfolio/sale/{domain_id}")
    await browser.submit(page, "entry-add", amount="100 USD", kind="buyer_refund")

    assert (await read(alice, domain_id))["sale"]["refunded"]["amount"] == "100.00"


async def test_a_sale_is_void(browser: Visitor, alice: Person, domain_id: str) -> None:
    await record(browser, domain_id)
    await browser.submit(await browser.open(f"/console/portfolio/sale/{domain_id}"), "sale-void")

    assert (await read(alice, domain_id))["sale"] is None


async def test_a_viewer_sees_neither_amounts_nor_forms(
    visit: Visit, browser: Visitor, alice: Person, charlie: Person, domain_id: str
) -> None:
    await record(browser, domain_id)
    await join_team(alice, charlie, "viewer")
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/sale/{domain_id}")

    assert "does not see amounts" in page.text
    assert "400.00" not in page.text
    assert "/do/sale" not in page.text


async def test_a_stranger_opens_no_page_of_a_sale(visit: Visit, bob: Person, domain_id: str) -> None:
    await (await visit(bob)).open(f"/console/portfolio/sale/{domain_id}", status=404)

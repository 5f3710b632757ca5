"""Two rows of one domain in an import: the later one is what is booked, and what a preview says."""

from datetime import date, timedelta
from typing import Any

import pytest

from builders.portfolio.imports import domain_imports
from builders.portfolio.imports.repeats import SAME_SALE
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person
from tests.portfolio.imports.make import EXPORT, IMPORTS, Json, counts, load, ok, undo
from tests.portfolio.registrars.sync import do_part

PREVIEW = "/v1/portfolio/import/preview"
BOUGHT = "domain,cost,bought\nharbour.com,100.00,2024-01-02\nharbour.com,120.00,2024-01-02\n"
SOLD = (
    "domain,cost,bought,sale price,sold\n"
    "harbour.com,50,2023-01-01,900,2024-03-01\nharbour.com,50,2023-01-01,950,2024-03-01\n"
)


async def books(alice: Person, name: str = "harbour.com") -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Day and amount of the valid purchases and of the sales of a domain."""
    rows = {each["domain"]: each for each in ok(await alice.get("/v1/portfolio/export"))["rows"]}
    entries = [each for each in rows[name]["entries"] if not each.get("voided_at")]
    return (
        sorted((each["on"], each["amount"]) for each in entries),
        sorted((each["sold_on"], each["amount"]) for each in rows[name]["sales"]),
    )


def replaced(result: Json) -> list[tuple[str, str]]:
    return [(each["code"], each["message"]) for each in result["warnings"] if each["code"].endswith("_replaced")]


async def test_the_later_purchase_is_booked_and_the_preview_says_so(alice: Person) -> None:
    said = [
        (
            "purchase_replaced",
            (
                "Line 2 has a purchase for 100.00 USD on 2024-01-02, and line 3 one for 120.00 USD on 2024-01-02. "
                "That of line 3 counts."
            ),
        )
    ]
    shown = ok(await alice.post(PREVIEW, json={"csv": BOUGHT}))
    assert ([replaced(each) for each in shown["rows"]], shown["rows"][1:]) == ([[], said], shown["problem_rows"])
    tried = await load(alice, BOUGHT, dry_run=True)
    assert replaced(tried["results"][1]) == said
    imported = await load(alice, BOUGHT)
    assert (replaced(imported["results"][1]), replaced(imported["results"][0])) == (said, [])
    assert await books(alice) == ([("2024-01-02", "120.00")], [])
    again = await load(alice, BOUGHT)
    assert counts(again) == {"unchanged": 2}
    for each in (again, imported):
        await undo(alice, each)
    assert len((await alice.get(EXPORT)).text.splitlines()) == 1


async def test_the_later_sale_is_booked_and_the_preview_says_so(alice: Person) -> None:
    shown = ok(await alice.post(PREVIEW, json={"csv": SOLD}))
    tried = await load(alice, SOLD, dry_run=True)
    assert replaced(tried["results"][1]) == replaced(shown["problem_rows"][0])
    assert replaced(tried["results"][1]) == [
        (
            "sale_replaced",
            (
                "Line 2 has a sale for 900.00 USD on 2024-03-01, and line 3 one for 950.00 USD on 2024-03-01. "
                "That of line 3 counts."
            ),
        )
    ]
    await load(alice, SOLD)
    assert await books(alice) == ([("2023-01-01", "50.00")], [("2024-03-01", "950.00")])


def rows_of(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of JSON about one domain, in dollars."""
    return [{"domain": "harbour.com", "currency": "USD", **each} for each in rows]


def bought(amount: str, on: str) -> dict[str, str]:
    return {"purchase_amount": amount, "purchase_date": on}


def sold(amount: str, on: str) -> dict[str, str]:
    return {"sale_amount": amount, "sale_date": on}


MARCH = date(2024, 3, 1)
AT, BEYOND = (str(MARCH + SAME_SALE + timedelta(each)) for each in (0, 1))


@pytest.mark.parametrize(
    ("rows", "purchases", "sales"),
    [
        pytest.param([bought("1", "2024-01-01"), bought("2", "2024-02-01")], ["2.00"], [], id="of other days"),
        pytest.param([bought("1", "2024-02-01"), bought("2", "2024-01-01")], ["2.00"], [], id="an earlier day"),
        pytest.param(
            [bought("1", "2024-01-01"), {"folder": "A"}, bought("2", "2024-01-01")],
            ["2.00"],
            [],
            id="a row between",
        ),
        pytest.param(
            [bought("1", "2024-01-01") | {"purchase_kind": "registration"}, bought("2", "2024-01-01")],
            ["2.00"],
            [],
            id="another kind",
        ),
        pytest.param(
            [bought("1", "2024-01-01") | sold("9", "2024-02-01"), bought("2", "2024-02-02")],
            ["1.00", "2.00"],
            ["9.00"],
            id="bought again after a sale",
        ),
        pytest.param(
            [
                bought("1", "2024-01-01") | sold("9", "2024-02-01"),
                bought("2", "2024-02-02") | sold("8", "2024-02-03"),
            ],
            ["1.00", "2.00"],
            ["9.00", "8.00"],
            id="bought and sold again",
        ),
        pytest.param([sold("9", "2024-03-01"), sold("8", AT)], [], ["8.00"], id="the same sale at the bound"),
        pytest.param(
            [sold("9", "2024-03-01"), sold("8", BEYOND)], [], ["9.00", "8.00"], id="another sale beyond it"
        ),
        pytest.param(
            [
                {"sales": [{"amount": each, "currency": "USD", "sold_on": "2024-03-01"}]}
                for each in ("9.00", "8.00")
            ],
            [],
            ["8.00"],
            id="lists of an export",
        ),
        pytest.param(
            [
                {"entries": [{"amount": "1.00", "currency": "USD", "kind": "acquisition", "on": "2024-01-01"}]},
                bought("1", "2024-01-01"),
            ],
            ["1.00"],
            [],
            id="an entry that is the purchase",
        ),
    ],
)
async def test_what_two_rows_of_a_domain_book(
    alice: Person, rows: list[dict[str, Any]], purchases: list[str], sales: list[str]
) -> None:
    await load(alice, rows_of(*rows))
    found = await books(alice)
    assert ([amount for _, amount in found[0]], [amount for _, amount in found[1]]) == (purchases, sales)


async def test_the_day_of_the_acquisition_is_that_of_the_later_row(alice: Person) -> None:
    await load(alice, rows_of(bought("1", "2024-01-01"), bought("2", "2024-02-01")))
    assert ok(await alice.get("/v1/portfolio/domains/harbour.com"))["acquired_on"] == "2024-02-01"


async def test_a_domain_that_is_skipped_has_no_such_warning(alice: Person) -> None:
    await load(alice, "domain\nharbour.com\n")
    skipped = await load(alice, BOUGHT, on_conflict="skip")
    assert [replaced(each) for each in skipped["results"]] == [[], []]


@pytest.mark.usefixtures("tenth")
async def test_rows_that_are_far_apart_in_a_large_file_are_one(alice: Person) -> None:
    many = domain_imports.inline_rows
    others = "".join(f"other-{at}.com,,\n" for at in range(many))
    text = BOUGHT.replace("harbour.com,120", f"{others}harbour.com,120")
    imported = await load(alice, text)
    await do_part(alice, WorkKind.IMPORT, alice.account.id, alice.service.api.state.outbound)
    done = ok(await alice.get(f"{IMPORTS}/{imported['import_id']}", params={"limit": 3}))
    [(_, said)] = [found for each in done["results"] for found in replaced(each)]
    assert said.endswith(f"That of line {many + 3} counts.")
    assert await books(alice) == ([("2024-01-02", "120.00")], [])


@pytest.mark.usefixtures("tenth")
async def test_rows_of_a_domain_beyond_a_part_book_no_other_purchase_and_say_so(alice: Person) -> None:
    many = domain_imports.inline_rows
    rows = [f"harbour.com,{1 if at < many else 2},2024-01-02" for at in range(many + 1)]
    imported = await load(alice, "\n".join(["domain,cost,bought", *rows]))
    await do_part(alice, WorkKind.IMPORT, alice.account.id, alice.service.api.state.outbound)
    path = f"{IMPORTS}/{imported['import_id']}"
    found = ok(await alice.get(path, params={"limit": 500}))
    while found["next_cursor"]:
        found = ok(await alice.get(path, params={"limit": 500, "cursor": found["next_cursor"]}))
    [_, last] = found["results"][-1]["warnings"]
    assert last["message"].endswith("Purchases and sales of the first ones count.")
    assert await books(alice) == ([("2024-01-02", "1.00")], [])

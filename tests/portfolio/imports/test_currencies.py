"""A currency that ISO 4217 lacks has a warning on each way in; the row is taken."""

import json
from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import IMPORT, Json, load, ok
from tests.portfolio.imports.test_cells import CHARGES, INVENTORY, REVENUE

ENTRIES = json.dumps([{"kind": "renewal", "amount": "9.00", "currency": "ZZZ", "on": "2025-01-01"}])
ROWS: list[Any] = [
    pytest.param({"renewal_price": "9.00", "currency": "ZZZ"}, None, id="currency of the row"),
    pytest.param({"renewal_price": "9.00 ZZZ"}, None, id="currency in the cell"),
    pytest.param({"min_offer": {"amount": "9.00", "currency": "ZZZ"}}, None, id="money as an object"),
    pytest.param(
        {"purchase_amount": "9.00", "purchase_currency": "ZZZ", "purchase_date": "2025-01-01"},
        None,
        id="currency of the purchase",
    ),
    pytest.param({"entries": ENTRIES}, None, id="an entry"),
]


def doubts(found: Json) -> list[tuple[str | None, str]]:
    return [(each["field"], each["code"]) for each in found["warnings"]]


@pytest.mark.parametrize(("cells", "field"), ROWS)
async def test_a_row_of_an_import_is_taken_with_a_warning(alice: Person, cells: Json, field: str | None) -> None:
    [result] = (await load(alice, [{"domain": "harbour.com", **cells}]))["results"]
    assert (result["outcome"], doubts(result)) == ("created", [(field, "currency_unknown")])


async def test_the_currency_of_a_query_has_a_warning_in_each_row(alice: Person) -> None:
    [result] = (await load(alice, b"domain,renewal_price\nharbour.com,9.00\n", currency="ZZZ"))["results"]
    assert doubts(result) == [(None, "currency_unknown")]


async def test_a_row_of_an_inventory_is_taken_with_a_warning(alice: Person) -> None:
    body = {"provider": "manual:dock", "rows": [{"domain": "harbour.com", "renewal_price": "9.00 ZZZ"}]}
    [result] = ok(await alice.post(INVENTORY, json=body))["results"]
    assert doubts(result) == [(None, "currency_unknown")]


@pytest.mark.parametrize("is_file", [True, False])
async def test_a_row_of_a_bill_is_taken_with_a_warning(alice: Person, is_file: bool) -> None:
    row = {"date": "2026-01-02", "domain": "harbour.com", "amount": "9.00", "currency": "ZZZ"}
    csv = "\n".join((",".join(row), ",".join(row.values())))
    body = {"csv": csv} if is_file else {"rows": [row]}
    [result] = ok(await alice.post(CHARGES, json={"provider": "manual:dock", **body}))["results"]
    assert (result["outcome"], doubts(result)) == ("created", [(None, "currency_unknown")])


@pytest.mark.parametrize("is_file", [True, False])
async def test_a_row_of_parking_is_taken_with_a_warning(alice: Person, is_file: bool) -> None:
    await add(alice, "harbour.com")
    row = {"date": "2026-01-02", "domain": "harbour.com", "amount": "9.00", "currency": "ZZZ"}
    csv = "\n".join((",".join(row), ",".join(row.values())))
    answer = await alice.post(REVENUE, json={"csv": csv} if is_file else {"rows": [row]})
    [result] = answer.json()["results"]
    assert (result["outcome"], doubts(result)) == ("created", [(None, "currency_unknown")])


BODIES = [
    pytest.param(
        DOMAINS, {"domain": "pier.com", "renewal_price": "9.00", "currency": "ZZZ"}, "currency", id="a domain"
    ),
    pytest.param(
        DOMAINS,
        {"domain": "pier.com", "purchase": {"amount": "9.00", "currency": "ZZZ"}},
        "purchase.currency",
        id="its purchase",
    ),
    pytest.param(
        IMPORT, {"domains": ["pier.com"], "defaults": {"currency": "ZZZ"}}, "defaults.currency", id="a default"
    ),
    pytest.param(
        CHARGES,
        {"rows": [{"date": "2026-01-02", "domain": "pier.com", "amount": "9"}], "currency": "ZZZ"},
        "currency",
        id="the currency of a bill",
    ),
]


@pytest.mark.parametrize(("path", "body", "field"), BODIES)
async def test_a_member_of_a_body_has_a_warning_of_the_reply(
    alice: Person, path: str, body: Json, field: str
) -> None:
    await add(alice, "harbour.com")
    answer = await alice.post(path, json=body)
    assert answer.is_success, answer.text
    assert doubts(answer.json()) == [(field, "currency_unknown")]

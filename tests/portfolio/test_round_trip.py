"""The export of a portfolio, imported into an empty account: everything that can be read is the same."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.finance.make import SALE, Book, add_domain, usd
from tests.portfolio.imports.make import EXPORT, JSON_EXPORT, Json, counts, load, ok
from tests.portfolio.parking.make import record
from tests.portfolio.renewals.make import ahead, decide
from tests.random_cases import cases

PORTFOLIO = "/v1/portfolio"
NAMES = ("harbour.com", "pier.de")
READS = (
    *("domains?sort=domain", "tags", "summary?months=120", "parking?days=365", "parking?days=365&group_by=domain"),
    *("renewals?within_days=365", "export", "export.csv", "parking.csv?days=365"),
    *(f"domains/{name}{part}" for name in NAMES for part in ("", "/finance", "/finance?as_of=2022-06-30")),
)
DROPPED = frozenset(
    {"id", "domain_id", "sale_id", "charge_id", "unconverted", "created_at", "updated_at", "source"}
)


def same(found: Any) -> Any:
    """JSON without ids, times of creation and sources; entries of one day are in no order."""
    if isinstance(found, dict):
        return {name: same(value) for name, value in found.items() if name not in DROPPED}
    if isinstance(found, list):
        shown = [same(each) for each in found]
        return sorted(shown, key=str) if found and isinstance(found[0], dict) else shown
    return found


async def read(owner: Person) -> Mapping[str, Any]:
    """Every reply about the portfolio, by path."""
    found: dict[str, Any] = {}
    for path in READS:
        answer = await owner.get(f"{PORTFOLIO}/{path}")
        if answer.status_code != 404:
            assert answer.status_code == 200, answer.text
            is_json = answer.headers["content-type"].startswith("application/json")
            found[path] = same(answer.json()) if is_json else None if path == "export.csv" else answer.text
    return found


async def copy(alice: Person, bob: Person, *, as_csv: bool) -> None:
    """Import the export of Alice into Bob's account, and compare what they read."""
    exported = (await alice.get(EXPORT)).text if as_csv else ok(await alice.get(JSON_EXPORT))["rows"]
    imported = await load(bob, exported)
    assert [each["warnings"] for each in imported["results"] if each["warnings"]] == []
    theirs, own = await read(bob), await read(alice)
    for path in READS:
        assert theirs.get(path) == own.get(path), path
    assert set(counts(await load(bob, exported))) <= {"unchanged"}
    assert set(counts(await load(alice, exported))) <= {"unchanged"}


PAYMENTS = [
    {"amount": "300", "on": "2022-05-01", "received_on": "2022-05-04"},
    {"amount": "9", "on": "2022-06-01"},
]


async def trade(book: Book) -> None:
    """Buy, renew, correct, sell, buy back and sell again, so that some entries are void."""
    await book.change(acquisition={"amount": "90", "currency": "USD", "on": "2020-01-01", "venue": "NameJet"})
    await book.change(acquisition={"amount": "100"})
    await book.renew("10.00", renewed_on="2020-12-20", order_ref="A-1")
    fee = {"kind": "other_cost", "amount": "7", "currency": "EUR", "occurred_on": "2021-02-01", "reference": "R-1"}
    added = await book.change(entries_add=[fee])
    await book.change(entries_void=[added["entries"][-1]["id"]])
    await book.change(sale={**SALE, "sold_on": "2022-03-04", "installments": PAYMENTS})
    await book.change(sale={"commission_rate": "0.2", "buyer_ref": "B-7"})
    await book.change(acquisition={"amount": "250", "currency": "USD", "on": "2023-01-01"})
    await book.change(sale={"gross": usd("5000"), "sold_on": "2024-01-01", "commission": usd("50")})


@pytest.mark.parametrize("as_csv", [False, True], ids=["json", "csv"])
async def test_what_requests_recorded_is_the_same(alice: Person, bob: Person, as_csv: bool) -> None:
    await trade(
        await add_domain(alice, "harbour.com", tags=["port"], expires_at=ahead(9).isoformat(), registrar="Gandi")
    )
    fields: Json = {"ownership": "consigned", "counterparty": "Ada", "revenue_share": "30"}
    other = await add_domain(
        alice, "pier.de", **fields, expires_at=ahead(20).isoformat(), asking_price=usd("1500")
    )
    await other.change(entries_add=[{"kind": "lease_income", "amount": "12", "currency": "JPY"}])
    day = str(clock.now().date() - timedelta(days=3))
    for amount in ("0.10", "0.25"):  # a correction voids the entry
        row = {
            "domain": "pier.de",
            "date": day,
            "provider": "sedo",
            "amount": amount,
            "currency": "USD",
            "visits": 4,
        }
        await record(alice, {"rows": [row]})
    await decide(alice, {"items": [{"domain_id": "pier.de", "decision": "renew", "years": 2, "note": "Earns."}]})
    await copy(alice, bob, as_csv=as_csv)


DAYS = st.dates(date(2020, 1, 1), date(2025, 12, 31)).map(date.isoformat)
CENTS = st.integers(1, 10**6).map(lambda each: f"{each // 100}.{each % 100:02}")
TEXT = st.sampled_from(["Sedo", 'ümläut, "x"', "=1+1", "'apostrophe"])
MONEY = st.fixed_dictionaries({"amount": CENTS, "currency": st.sampled_from(["USD", "EUR"])})


def joined(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """An object with the members of all parts."""
    return st.tuples(*parts).map(lambda found: {name: value for each in found for name, value in each.items()})


ENTRY = joined(
    MONEY,
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(
                [
                    "acquisition",
                    "renewal",
                    "tax",
                    "lease_income",
                    "refund",
                    "other_cost",
                    "buyer_refund",
                    "chargeback",
                ]
            ),
            "on": DAYS,
            "source": st.sampled_from(["manual", "import"]),
        },
        optional={
            "years": st.integers(1, 10),
            "registrar": TEXT,
            "memo": TEXT,
            "order_ref": TEXT,
            "charge": st.sampled_from(["0" * 64, "a1" * 32]),
        },
    ),
    st.sampled_from([{}, {"voided_at": "2024-05-06T07:08:09.123456Z", "void_reason": "Voided by a member."}]),
)
SALES = st.lists(
    joined(
        MONEY,
        st.fixed_dictionaries(
            {"sold_on": DAYS, "own_share": st.sampled_from(["1", "0.3"])},
            optional={"venue": TEXT, "buyer_ref": TEXT, "commission_rate": st.sampled_from(["0.15", "0.333333"])},
        ),
    ),
    max_size=3,
    unique_by=lambda each: each["sold_on"],
)
PARKING = st.lists(
    joined(
        MONEY,
        st.fixed_dictionaries(
            {"on": DAYS, "provider": st.sampled_from(["sedo", "bodis"]), "visits": st.integers(0, 9)},
            optional={"reference": TEXT, "clicks": st.integers(0, 9)},
        ),
    ),
    max_size=3,
    unique_by=lambda each: (each["on"], each["provider"], each.get("reference")),
)
DECISION = st.fixed_dictionaries(
    {
        "decision": st.sampled_from(["renew", "drop", "undecided"]),
        "years": st.none() | st.integers(1, 10),
        "note": st.none() | TEXT,
        "snooze_until": st.none() | DAYS,
        "expires_at": st.sampled_from([None, "2030-01-01T00:00:00Z"]),
        "decided_at": st.just("2025-01-02T03:04:05.678901Z"),
    }
)
ROW: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"entries": st.lists(ENTRY, max_size=4), "sales": SALES, "parking": PARKING},
    optional={
        "renewal_decisions": DECISION.map(lambda each: [each]),
        "status": st.sampled_from(["owned", "listed", "sold", "dropped"]),
        "expires_at": st.just("2030-01-01T10:11:12.5Z"),
        "asking_price": MONEY,
        "tags": st.just(["a b", "c"]),
        "pinned": st.booleans(),
    },
)


@cases(4)
@given(rows=st.tuples(ROW, ROW), as_csv=st.booleans())
async def test_whatever_is_imported_is_the_same(
    alice: Person, bob: Person, rows: tuple[Json, Json], as_csv: bool
) -> None:
    for person in (alice, bob):
        for name in NAMES:
            await person.delete(f"{PORTFOLIO}/domains/{name}?history=delete")
    await load(alice, [{"domain": name, **row} for name, row in zip(NAMES, rows, strict=True)])
    await copy(alice, bob, as_csv=as_csv)


async def test_the_undo_of_an_import_removes_its_decisions(alice: Person) -> None:
    decided = {"decision": "drop", "decided_at": "2025-01-02T03:04:05Z"}
    imported = await load(alice, [{"domain": "harbour.com", "renewal_decisions": [decided]}])
    undone = ok(await alice.post(f"{PORTFOLIO}/imports/{imported['import_id']}/undo"))
    assert undone["undo"] == {"rows": 1, "removed": 1, "restored": 0, "kept": 0}

"""Registrars whose answers make no sense or never end."""

import csv
import json
import tracemalloc
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import RootModel

from builders.demo.registrars.fake import FakeAccount, FakeLine, FakeServer
from builders.kit.outbound.client import Response
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.billing.lines import is_storable
from builders.portfolio.registrars import adapter, listings
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import MAX_RETRY_AFTER_S, RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import RegistrarDomain
from builders.portfolio.registrars.requests import next_allowed_at
from builders.portfolio.registrars.rows import UNREADABLE, AmountOfFloat, DomainRow, TransferRow, read_time
from tests.cast import Person
from tests.portfolio.billing.make import BILLING, charges, line
from tests.portfolio.billing.test_sync import purchase
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.recorded_make import Replay, adapter_of
from tests.portfolio.registrars.sync import (
    EXPIRES,
    fake_of,
    held,
    ok,
    read as read_run,
    sync,
    work,
)
from tests.registrars.fakes import FAKES


@pytest.mark.parametrize(
    "text",
    [
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1984-12-31T23:59:59Z", "3000-01-01"),
        *("0000-00-00", "soon", "12/31/2027", "1e400", "{}"),
    ],
)
def test_a_time_that_no_domain_has_is_not_taken(text: str) -> None:
    assert read_time(text) == UNREADABLE
    held = read(DomainRow, {"domain": "pier.com", "expires_at": text, "created_at": text}).held()
    assert held == RegistrarDomain(domain="pier.com", unread=("expires_at", "created_at"))


@pytest.mark.parametrize("text", ["1985-01-01T00:00:00Z", "2999-12-31T23:59:59Z"])
def test_a_time_at_the_bound_is_taken(text: str) -> None:
    assert read_time(text) == datetime.fromisoformat(text)


def test_a_price_that_no_domain_has_is_not_taken() -> None:
    rows = [RegistrarDomain(domain="pier.com", renewal_price=Money(Decimal(10) ** 400, "USD"))]
    assert listings.clean(rows) == {"pier.com": RegistrarDomain(domain="pier.com")}


def test_transfers_have_times_and_texts_that_can_be_stored() -> None:
    said = {"status_raw": "p\0" * 500, "message": "m\0", "started_at": "0001-01-01", "completed_at": "9999-12-31"}
    kept = listings.cleaned_transfer(read(TransferRow, said).held())
    assert (kept.started_at, kept.completed_at, kept.message) == (None, None, "m")
    assert kept.status_raw == "p" * listings.MAX_STATUS


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (RootModel[AmountOfFloat], "free"),
        (RootModel[AmountOfFloat], float("nan")),
    ],
)
def test_values_beyond_their_types_are_malformed(form: type[RootModel[Any]], value: object) -> None:
    with pytest.raises(RegistrarFailed) as failed:
        read(form, value)
    assert failed.value.kind is RegistrarFailure.MALFORMED


@pytest.mark.parametrize("said", [1e18, float("inf"), float("nan"), -5.0, 7.0])
def test_a_registrar_defers_the_next_request_by_a_day_at_most(said: float) -> None:
    failure = RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=said)
    until = next_allowed_at(failure, now := clock.now())
    assert until is not None
    assert now < until <= now + timedelta(seconds=MAX_RETRY_AFTER_S)


@pytest.mark.parametrize(
    ("text", "is_page"),
    [
        (b"<!---->" * 200, False),  # read in a moment, whatever parts could be one comment
        (b"<!---->" * 200 + b"<html>", True),
        (b"<!-- <body> -->{}", False),
        (b"<!--" * 200, False),
    ],
)
def test_a_text_of_many_comments_is_known_at_once(text: bytes, is_page: bool) -> None:
    assert ApiResponse(status=200, body=text).is_page() is is_page


@pytest.mark.parametrize(("digits", "wait_s"), [("7", 7.0), ("1" + "0" * 400, None)])
def test_a_wait_beyond_all_numbers_is_none(digits: str, wait_s: float | None) -> None:
    body = f'{{"retryAfterSec": {digits}}}'.encode()
    assert ApiResponse(status=429, body=body).wait_s() == wait_s


def test_a_list_of_bad_values_in_a_row_takes_no_memory_for_each() -> None:
    names = [1] * 100_000
    tracemalloc.start()
    try:
        held = read(DomainRow, {"domain": "a.com", "nameservers": names, "epp": names}).held()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (held.nameservers, held.unread) == (None, ("epp", "nameservers"))
    assert peak < 50 * len(names)  # bytes; an error takes 500


async def test_a_list_that_repeats_a_page_or_never_ends_is_malformed() -> None:
    async def forever(*pages: Sequence[str]) -> AsyncIterator[Sequence[str]]:
        while True:
            for page in pages:
                yield page

    lists: list[list[list[str]]] = [[["a", "b"]], [[]], [["a", "b", "c"], ["d", "e", "f"]]]
    for pages in lists:
        with pytest.raises(RegistrarFailed) as failed:
            async for _ in adapter.bounded(forever(*pages), max_rows=50, max_pages=20):
                pass
        assert failed.value.kind is RegistrarFailure.MALFORMED


EMPTY = {
    "namecom": {"domains": [], "orders": [], "nextPage": 2},
    "route53": {"Domains": [], "BillingRecords": [], "Operations": [], "NextPageMarker": "more"},
    "cloudflare": {"success": True, "result": [], "result_info": {"cursor": "more"}},
}


@pytest.mark.parametrize("provider", EMPTY)
async def test_a_registrar_that_returns_only_empty_pages_is_left_soon(provider: str) -> None:
    replay = Replay(defaultdict(lambda: json.dumps(EMPTY[provider])))
    client = adapter_of(provider, replay)
    lists: list[AsyncIterator[Sequence[Any]]] = [client.list_domains()]
    if client.profile.capabilities.billing:
        lists.append(client.list_charges(since=date(2026, 1, 1), until=date(2026, 12, 31)))
    for pages in lists:
        replay.requests = 0
        with pytest.raises(RegistrarFailed, match="cannot be read") as failed:
            async for _ in adapter.bounded(pages):
                pass
        assert replay.requests == adapter.MAX_EMPTY_PAGES + 1
        assert "4 consecutive pages were empty" in str(failed.value.hint)
    if provider == "route53":
        with pytest.raises(RegistrarFailed):
            await client.find_transfer("a.com")


OLD = {"orderId": "1", "createdAt": "2001-03-01T00:00:00Z"}
# Pages of bills before the period, each of which says that another one follows.
ENDLESS: dict[str, dict[str, Any]] = {
    "godaddy": {"/v1/orders": {"orders": [OLD], "pagination": {"total": 10**30}}, "/v1/orders/1": OLD},
    "namecom": {"/core/v1/orders": {"orders": [{"id": 1, "createDate": "2001-03-01T00:00:00Z"}], "nextPage": 2}},
    "route53": {
        "ViewBilling": {
            "BillingRecords": [
                {"DomainName": "a.com", "BillDate": 983404800, "Operation": "RENEW_DOMAIN", "Price": 9}
            ],
            "NextPageMarker": "more",
        }
    },
}


class Impatient(Replay):
    """Answers ten requests."""

    async def request(self, *sent: Any, **more: Any) -> Response:
        assert self.requests < 10, "the list does not end"
        return await super().request(*sent, **more)


@pytest.mark.parametrize("provider", ENDLESS)
async def test_bills_before_the_period_that_never_end_are_malformed(provider: str) -> None:
    replay = Impatient({path: json.dumps(body) for path, body in ENDLESS[provider].items()})
    pages = adapter_of(provider, replay).list_charges(since=date(2026, 1, 1), until=date(2026, 12, 31))
    with pytest.raises(RegistrarFailed) as failed:
        await anext(pages)
    assert (failed.value.kind, replay.requests > 1) == (RegistrarFailure.MALFORMED, True)


RISKY = ("=", "+", "-", "@", "\t", "\r")


async def test_what_a_registrar_says_is_no_formula_in_a_file(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    formula = "=HYPERLINK(1)"
    servers = [formula, "+ns.example", "@ns.example", "ns1.example.com"]
    fake = fake_of("godaddy", held("pier.com", nameservers=servers, state="active"))
    line_of = FakeLine(domains=["pier.com"], operation="renewal", total=Decimal(9), text=f"{formula} pier.com")
    fake.account.orders.append(purchase("=1+1", "pier.com"))
    fake.account.orders[0] = replace(fake.account.orders[0], lines=[line_of])
    await add(alice, "pier.com")
    await connect(alice, fake, fakes, name="@default")
    await sync(alice, worker)
    ok(await alice.post(f"{BILLING}/sync", params={"wait": 0}))
    await work(alice, worker)
    rows = [{"domain": "quay.com", "registrar": formula, "notes": formula}, {"domain": f"{formula}.com"}]
    listed = {"provider": "manual:corner", "rows": rows, "add_to_portfolio": True}
    ok(await alice.post(f"{REGISTRARS}/inventory/import", json=listed))
    file = (await alice.get("/v1/portfolio/export.csv")).text
    assert {"pier.com", "quay.com"} <= {row[0] for row in csv.reader(file.splitlines())}
    assert "HYPERLINK" in file  # of the bill, in the ledger of the domain
    cells = [cell for row in csv.reader(file.splitlines()) for cell in row]
    assert [cell for cell in cells if cell.startswith(RISKY)] == []
    for provider in ADAPTERS:
        template = await alice.get(f"{BILLING}/templates", params={"provider": provider, "format": "csv"})
        cells = [cell for row in csv.reader(template.text.splitlines()) for cell in row]
        assert [cell for cell in cells if cell.startswith(RISKY[:1] + RISKY[3:])] == []


async def test_a_response_of_a_base_url_is_bounded(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    many = [held(f"d{number}.com", nameservers=["n" * 2_000]) for number in range(600)]
    await connect(alice, fake_of("godaddy", *many), fakes)  # all domains in one response
    [found] = (await sync(alice, worker))["providers"]
    assert (found["state"], found["error"]["code"], found["seen"]) == ("failed", "provider_unavailable", 0)
    assert found["error"]["hint"] == "The response is too large."


@pytest.mark.parametrize(
    "wrong",
    [
        {"currency": "Dollar"},
        {"total": Decimal("NaN")},
        {"tax": Decimal("Infinity")},
        {"total": Decimal(10) ** 40},
        {"charged_on": date(1, 1, 1)},
        {"charged_on": date(9999, 12, 31)},
        {"domains": ["pier.com"] * 1_001},
    ],
)
def test_lines_that_no_bill_has_are_not_stored(wrong: dict[str, Any]) -> None:
    assert is_storable(line("10.98", "pier.com"))
    assert not is_storable(replace(line("10.98", "pier.com"), **wrong))


async def test_years_of_no_meaning_do_not_replace_a_known_expiry(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    made = await add(alice, domain="pier.com", expires_at=EXPIRES.isoformat())
    await connect(alice, fake_of("porkbun", held("pier.com", expires_at=datetime(1, 1, 1, tzinfo=UTC))), fakes)
    assert (await sync(alice, worker))["state"] == "completed"
    shown = ok(await alice.get(f"{DOMAINS}/{made['id']}"))
    assert shown["expires_at"] == "2027-02-28T12:00:00Z"


async def test_a_billing_run_takes_any_period(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, FAKES["godaddy"](FakeAccount(orders=[purchase("1", "pier.com")])), fakes)
    period = {"since": "0001-01-01", "until": "9999-12-31"}
    run = ok(await alice.post(f"{BILLING}/sync", json=period, params={"wait": 0}))
    await work(alice, worker)
    assert (await read_run(alice, run))["state"] == "completed"
    assert (await charges(alice))["count"] == 1


async def test_files_with_absurd_cells_are_refused_row_by_row(alice: Person) -> None:
    rows: list[dict[str, Any]] = [
        {"date": "0001-01-02", "domain": "pier.com", "type": "refund", "amount": "1"},
        {"date": "2026-01-02", "domain": "pier.com", "amount": "9" * 40},
        {"date": "2026-01-02", "domain": "pier.com", "amount": "NaN"},
        {"date": "2026-01-02", "domain": "pier.com", "type": "refund", "amount": "1", "parent order": "a\0b"},
        {"date": "2026-01-02", "domain": "p" * 300 + ".com", "amount": "1"},
        {"date": "2026-01-02", "domain": "pier\0.com", "order id": "a\0b", "amount": "1"},
    ]
    for row in rows:
        answer = await alice.post(f"{BILLING}/import", json={"rows": [row], "provider": "manual:dock"})
        assert answer.status_code in {200, 422}, (row, answer.text)

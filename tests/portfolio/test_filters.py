"""The filters of domains: the same ones for the list, the exports, the renewals and the summary."""

import csv
import io
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import Lifecycle, NewDomain, Ownership, PortfolioDomainStatus
from tests.cast import Client, Person
from tests.portfolio.domains.make import DOMAINS, names
from tests.portfolio.renewals.make import RENEWALS, decide
from tests.portfolio.team.make import join, of

EXPORT, SUMMARY = "/v1/portfolio/export", "/v1/portfolio/summary"
# Days until the expiry, and other members. All are in the report of renewals, and in the summary.
KEPT: dict[str, tuple[int, dict[str, Any]]] = {
    "delta.com": (300, {"tags": ["sale"], "registrar": "Porkbun", "auto_renew": True, "folder": "Ports"}),
    "alpha.com": (10, {"tags": ["ports"], "folder": "ports", "auto_renew": False}),
    "bücher.de": (-3, {"ownership": Ownership.CONSIGNED, "tags": ["sale"], "auto_renew": True}),
    "shop.co.uk": (20, {"status": PortfolioDomainStatus.LISTED}),
    "пример.рф": (30, {}),
    "late.com": (-50, {"folder": "Ports"}),
}
DELTA, ALPHA, LATE = "delta.com", "alpha.com", "late.com"
BOOKS, SHOP, SAMPLE = "xn--bcher-kva.de", "shop.co.uk", "xn--e1afmkfd.xn--p1ai"
ORDERED = (DELTA, ALPHA, BOOKS, SHOP, SAMPLE, LATE)
CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({"folder": "Ports"}, {DELTA, LATE}),
    ({"folder": "none"}, set()),
    ({"tld": ".COM"}, {DELTA, ALPHA, LATE}),
    ({"tld": "co.uk"}, {SHOP}),
    ({"tld": "uk"}, set()),
    ({"tld": "рф"}, {SAMPLE}),
    ({"tld": "a b"}, set()),
    ({"ownership": "consigned"}, {BOOKS}),
    ({"auto_renew": "true"}, {DELTA, BOOKS}),
    ({"auto_renew": "false"}, {ALPHA}),
    ({"lifecycle": "active"}, {DELTA}),
    ({"lifecycle": "expiring"}, {ALPHA, SHOP, SAMPLE}),
    ({"lifecycle": "redemption"}, {BOOKS, LATE}),
    ({"lifecycle": "redemption", "tld": "de"}, {BOOKS}),
    ({"decision": "renew"}, {DELTA}),
    ({"decision": "drop"}, {ALPHA}),
    ({"decision": "undecided"}, {BOOKS, SHOP, SAMPLE, LATE}),
    ({"status": "listed"}, {SHOP}),
    ({"registrar": "porkbun"}, {DELTA}),
    ({"tag": "sale"}, {DELTA, BOOKS}),
    ({"expiring_within_days": 25}, {ALPHA, SHOP}),
    ({"q": "büch"}, {BOOKS}),
    ({"folder": "Ports", "auto_renew": "true", "tld": "com", "decision": "renew", "lifecycle": "active"}, {DELTA}),
]


@pytest.fixture
async def filled(alice: Person, bob: Person, database: Database) -> Person:
    """Return Alice with some domains; Bob has others with the same values."""
    for owner in (alice, bob):
        new = [
            NewDomain(name=domain_names.parse_name(name), expires_at=clock.now() + timedelta(days=days), **members)
            for name, (days, members) in KEPT.items()
        ]
        async with database.transaction() as conn:
            await changes.add_domains(conn, account_id=owner.account.id, new=new)
    for at, name in enumerate(ORDERED):
        body = {"acquisition": {"amount": {"amount": f"{1 << at}.00", "currency": "USD"}}}
        assert (await alice.patch(f"{DOMAINS}/{name}/finance", json=body)).status_code == 200
    await decide(alice, {"items": [{"domain": DELTA, "decision": "renew"}, {"domain": ALPHA, "decision": "drop"}]})
    return alice


async def _listed(owner: Client, query: dict[str, Any]) -> set[str]:
    return set(await names(owner, **query))


async def _exported(owner: Client, query: dict[str, Any]) -> set[str]:
    return {each["domain"] for each in (await owner.get(EXPORT, params=query)).json()["rows"]}


async def _exported_as_csv(owner: Client, query: dict[str, Any]) -> set[str]:
    answer = await owner.get(f"{EXPORT}.csv", params=query)
    return {each["domain"] for each in csv.DictReader(io.StringIO(answer.text))}


async def _renewed(owner: Client, query: dict[str, Any]) -> set[str]:
    """Return the domains of the report, whose totals are those of the same domains."""
    found = (await owner.get(RENEWALS, params={**query, "within_days": 365})).json()
    assert found["totals"]["count"] == len(found["items"])
    return {each["domain"] for each in found["items"]}


async def _summed(owner: Client, query: dict[str, Any]) -> set[str]:
    """Return the domains whose entries, of 1, 2, 4, ... dollars each, are in the sum."""
    found = (await owner.get(SUMMARY, params=query)).json()
    chosen = {name for at, name in enumerate(ORDERED) if int(float(found["totals"]["cost"]["amount"])) & 1 << at}
    assert found["domains"] == len(chosen) == sum(each["domains"] for each in found["by_tld"])
    assert sum(each["entries"] for each in found["by_tld"]) == len(chosen)
    return chosen


@pytest.mark.parametrize("read", [_listed, _exported, _exported_as_csv, _renewed, _summed])
async def test_each_filter_selects_the_same_domains(
    filled: Person, read: Callable[[Client, dict[str, Any]], Awaitable[set[str]]]
) -> None:
    found = {str(query): await read(filled, query) for query, _ in CASES}

    assert found == {str(query): expected for query, expected in CASES}


@pytest.mark.parametrize("path", [DOMAINS, EXPORT, f"{EXPORT}.csv", RENEWALS, SUMMARY])
@pytest.mark.parametrize(
    "query", [{"lifecycle": "gone"}, {"decision": "maybe"}, {"auto_renew": "perhaps"}, {"folder": ""}, {"tld": ""}]
)
async def test_a_wrong_value_of_a_filter_is_refused(alice: Person, path: str, query: dict[str, str]) -> None:
    answer = await alice.get(path, params=query)

    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", *query])


async def test_a_filter_by_lifecycle_selects_what_the_list_shows(filled: Person) -> None:
    """The stored state is older than the shown one until the job runs."""
    for _ in range(14):
        shown = {each["domain"]: each["lifecycle"] for each in (await filled.get(DOMAINS)).json()["items"]}
        for state in Lifecycle:
            expected = {name for name, lifecycle in shown.items() if lifecycle == state}
            assert await _listed(filled, {"lifecycle": state}) == expected
        clock.move(timedelta(days=13))


async def test_a_renewal_ends_the_decision_for_the_filter(filled: Person) -> None:
    expires_at = (clock.now() + timedelta(days=300 + 365)).isoformat()
    assert (await filled.patch(f"{DOMAINS}/{DELTA}", json={"expires_at": expires_at})).status_code == 200

    assert await _listed(filled, {"decision": "renew"}) == set()
    assert DELTA in await _listed(filled, {"decision": "undecided"})


async def test_pages_of_a_filtered_list_have_each_domain_once(filled: Person) -> None:
    query: dict[str, Any] = {"decision": "undecided", "lifecycle": "expiring", "sort": "domain", "limit": 1}
    found: list[str] = []
    while query.get("cursor", "") is not None:
        page = (await filled.get(DOMAINS, params=query)).json()
        found += [each["domain"] for each in page["items"]]
        query["cursor"] = page["next_cursor"]

    assert found == [SHOP, SAMPLE]


async def test_the_entries_of_finance_are_those_of_a_year(filled: Person) -> None:
    this = clock.now().year
    path = f"{DOMAINS}/{DELTA}/finance"

    found = (await filled.get(path, params={"year": this})).json()
    before = (await filled.get(path, params={"year": this - 1})).json()

    assert [len(each["entries"]) for each in (found, before)] == [1, 0]
    assert found["cost_basis"] == before["cost_basis"] == {"amount": "1.00", "currency": "USD"}


async def test_a_member_without_finance_may_use_every_filter(filled: Person, charlie: Person) -> None:
    await join(filled, charlie)

    answer = await charlie.get(DOMAINS, params={"decision": "renew", "folder": "Ports"}, headers=of(filled))

    assert [each["domain"] for each in answer.json()["items"]] == [DELTA]

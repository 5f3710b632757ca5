"""Each rule of the comparison: one difference at a time, its severity, and the request that resolves it."""

from datetime import timedelta
from typing import Any

import pytest

from builders.kit.values import clock
from builders.portfolio.domains.records import PortfolioDomainStatus as Status
from tests.cast import Client, Person
from tests.portfolio.registrars.make import REGISTRARS
from tests.portfolio.registrars.reconcile_make import REPORT, ahead, connect, finding, hold, own, report
from tests.portfolio.registrars.sync import SYNC, ok
from tests.portfolio.team.make import code, join, of

pytestmark = pytest.mark.usefixtures("noon")
Fields = dict[str, Any]
TRANSFER, EXPIRED = "pending_transfer_out_unexpected", "expired_at_registrar"
NEAR, FAR = 20, 365  # days until the expiry
DROPPED, SOLD, MOVED = Status.DROPPED, Status.SOLD, Status.TRANSFERRED_OUT


def until(days: float) -> Fields:
    return {"expires_at": days}


# What the registrar and the portfolio have beside the same values, and the findings; times are in days from now.
RULES: list[tuple[str, Fields, Fields, list[str]]] = [
    ("the same", {}, {}, []),
    ("it leaves", {"status": "transferring_out"}, {}, [f"critical {TRANSFER}"]),
    ("it leaves after its sale", {"status": "transferring_out"}, {"status": SOLD}, []),
    ("it is deleted", {"status": "redemption"}, {}, ["critical redemption"]),
    ("it is about to be released", {"status": "pending_delete"}, {}, ["critical redemption"]),
    ("it is deleted as planned", {"status": "redemption"}, {"status": DROPPED}, []),
    ("it has expired", {"status": "expired"}, {}, [f"critical {EXPIRED}"]),
    ("its expiry has passed", until(-2), until(-2), [f"critical {EXPIRED}"]),
    ("its expiry passed today", until(-0.5), until(-0.5), []),
    (
        "it expired while it leaves",
        {"status": "transferring_out", **until(-9)},
        until(-9),
        [f"critical {TRANSFER}"],
    ),
    ("it expires earlier", until(FAR - 1.5), {}, ["high expiry_mismatch"]),
    ("it expires later", until(FAR + 1.5), {}, ["warn expiry_mismatch"]),
    ("it expires within a day", until(FAR - 0.9), {}, []),
    ("the registrar knows no expiry", until(0) | {"expires_at": None}, {}, []),
    ("the portfolio knows no expiry", {}, {"expires_at": None}, []),
    ("it is not renewed", {"auto_renew": False}, {}, ["warn auto_renew_mismatch"]),
    ("it is not renewed soon", {"auto_renew": False, **until(NEAR)}, until(NEAR), ["high auto_renew_mismatch"]),
    ("it is renewed", until(NEAR), {"auto_renew": False, **until(NEAR)}, ["warn auto_renew_mismatch"]),
    ("nobody says whether it is renewed", {"auto_renew": None}, {}, []),
    ("deleted and not renewed", {"auto_renew": False, "status": "redemption"}, {}, ["critical redemption"]),
    ("dropped and renewed", {}, {"status": DROPPED}, ["high dropped_but_active"]),
    ("dropped and perhaps renewed", {"auto_renew": None}, {"status": DROPPED}, ["warn dropped_but_active"]),
    ("dropped and not renewed", {"auto_renew": False}, {"status": DROPPED}, []),
    ("dropped and over", until(-9), {"status": DROPPED}, []),
    ("dropped and registered anew", {"status": "pending"}, {"status": DROPPED}, []),
    ("sold and held", {}, {"status": SOLD}, ["warn sold_but_still_held"]),
    ("sold and suspended", {"status": "suspended"}, {"status": SOLD}, ["warn sold_but_still_held"]),
    ("sold and expired", {"status": "expired"}, {"status": SOLD}, []),
    ("moved and held", {}, {"status": MOVED}, ["warn sold_but_still_held"]),
    ("elsewhere", {}, {"registrar": "Elsewhere"}, ["warn registrar_mismatch"]),
    ("at its company", {}, {"registrar": "PORKBUN LLC"}, []),
    ("elsewhere, on its way", {"status": "pending"}, {"registrar": "Elsewhere"}, []),
    ("dearer", {"price": "10.01"}, {}, ["warn price_changed"]),
    ("cheaper", {"price": "9.99"}, {}, ["info price_changed"]),
    ("in euros", {"price": "9.99", "currency": "EUR"}, {}, []),
    ("without a price", {"price": None, "currency": None}, {}, []),
    ("unlocked", {"locked": False}, {}, ["info lock_off"]),
    ("unlocked as known", {"locked": False}, {"locked": False}, ["info lock_off"]),
    ("suspended and unlocked", {"locked": False, "status": "suspended"}, {}, []),
    ("public", {"privacy": False}, {}, ["info privacy_off"]),
    ("public, and nobody knew", {"privacy": False}, {"privacy": None}, ["info privacy_off"]),
    ("gone", {"status": "gone"}, {}, ["high missing_at_registrar"]),
    ("vanished", {"missing_since": 0}, {}, ["high missing_at_registrar"]),
    ("vanished after its sale", {"missing_since": 0}, {"status": SOLD}, []),
]


def dated(fields: Fields) -> Fields:
    """The fields with times in place of days."""
    times = {"expires_at", "missing_since"}
    return {name: ahead(value) if name in times and value is not None else value for name, value in fields.items()}


def lines(found: dict[str, Any]) -> list[str]:
    return [f"{each['severity']} {each['category']}" for each in found["findings"]]


@pytest.mark.parametrize(
    ("held", "known", "expected"), [each[1:] for each in RULES], ids=[each[0] for each in RULES]
)
async def test_a_rule_finds_one_difference(
    alice: Person, held: Fields, known: Fields, expected: list[str]
) -> None:
    porkbun = await connect(alice)
    await own(alice, "a.com", **dated(known))
    await hold(alice, porkbun, "a.com", **dated(held))
    assert lines(await report(alice)) == expected


@pytest.mark.parametrize(
    ("name", "held", "known", "expected"),
    [
        ("a.de", {"locked": False}, {"locked": None}, []),
        ("a.de", {"locked": False}, {"locked": True}, ["info lock_off"]),
        ("a.de", {"privacy": False}, {"privacy": None}, []),
        ("a.de", {"privacy": False}, {"privacy": True}, ["info privacy_off"]),
        ("a.co.uk", {"locked": False}, {"locked": None}, []),
        ("a.app", {"locked": False}, {"locked": None}, ["info lock_off"]),
    ],
)
async def test_a_lock_of_a_country_is_missed_only_where_it_was_on(
    alice: Person, name: str, held: Fields, known: Fields, expected: list[str]
) -> None:
    porkbun = await connect(alice)
    await own(alice, name, **known)
    await hold(alice, porkbun, name, **held)
    assert lines(await report(alice)) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [("active", ["warn missing_in_portfolio"]), ("redemption", ["warn missing_in_portfolio"]), ("pending", [])],
)
async def test_a_name_that_the_portfolio_lacks(alice: Person, status: str, expected: list[str]) -> None:
    await hold(alice, await connect(alice), "a.com", status=status)
    assert lines(await report(alice)) == expected


# Registrar, what it and the portfolio have, and the request that resolves the finding: method, path, body.
AUTO_OFF = {"auto_renew": False}
ACTIONS: list[tuple[str, Fields, Fields, tuple[str, str, Fields | None] | None]] = [
    ("namecheap", AUTO_OFF, {}, ("PATCH", "/v1/portfolio/domains/{id}", {"auto_renew": False})),
    (
        "godaddy",
        AUTO_OFF,
        {},
        (
            "PATCH",
            "/v1/portfolio/renewals/bulk",
            {"items": [{"domain_id": "{id}", "auto_renew": True}], "push_to_registrar": True},
        ),
    ),
    ("namecheap", {}, {"status": DROPPED}, ("POST", f"{SYNC}?provider=namecheap", None)),
    (
        "godaddy",
        {},
        {"status": DROPPED},
        (
            "PATCH",
            "/v1/portfolio/renewals/bulk",
            {
                "items": [{"domain_id": "{id}", "decision": "drop", "auto_renew": False}],
                "push_to_registrar": True,
            },
        ),
    ),
    (
        "manual:corner",
        {},
        {"status": DROPPED},
        (
            "POST",
            "/v1/portfolio/registrars/inventory/import",
            {
                "provider": "manual:corner",
                "connection": "default",
                "rows": [{"domain": "a.com", "auto_renew": False}],
            },
        ),
    ),
    ("godaddy", {"status": "redemption"}, {}, ("POST", f"{SYNC}?provider=godaddy", None)),
    ("manual:corner", {"status": "redemption"}, {}, None),
    ("godaddy", {"status": "pending_delete"}, {}, ("PATCH", "/v1/portfolio/domains/{id}", {"status": "dropped"})),
    ("godaddy", {}, {"status": SOLD}, ("POST", "/v1/portfolio/domains/{id}/auth-code", None)),
    ("godaddy", {}, {"registrar": "Elsewhere"}, ("PATCH", "/v1/portfolio/domains/{id}", {"registrar": "GoDaddy"})),
    ("porkbun", {"locked": False}, {}, ("POST", f"{SYNC}?provider=porkbun", None)),
    (
        "porkbun",
        {"price": "12.00"},
        {},
        ("PATCH", "/v1/portfolio/domains/{id}", {"renewal_price": {"amount": "12.00", "currency": "USD"}}),
    ),
]


@pytest.mark.parametrize(("provider", "held", "known", "expected"), ACTIONS)
async def test_a_finding_suggests_a_request(
    alice: Person, provider: str, held: Fields, known: Fields, expected: tuple[str, str, Fields | None] | None
) -> None:
    connection = await connect(alice, provider)
    made = await own(alice, "a.com", **{"registrar": None, **known})
    await hold(alice, connection, "a.com", **held)
    [found] = (await report(alice))["findings"]
    action = found["suggested_action"]
    if expected is None:
        assert action is None
    else:
        method, path, body = expected
        shown = str(body).replace("{id}", str(made["a.com"]))
        assert (action["method"], action["path"]) == (method, path.replace("{id}", str(made["a.com"])))
        assert str(action["body"]) == shown


async def test_a_disabled_connection_is_not_asked_to_sync(alice: Person) -> None:
    godaddy = await connect(alice, "godaddy", is_enabled=False)
    await own(alice, "a.com", registrar=None)
    await hold(alice, godaddy, "a.com", locked=False)
    found = finding(await report(alice), "lock_off")
    assert found["suggested_action"]["path"] == "/v1/portfolio/registrars/inventory/import"
    assert found["suggested_action"]["body"] == {
        "provider": "godaddy",
        "connection": "default",
        "rows": [{"domain": "a.com", "locked": True}],
    }


async def test_a_duplicate_is_listed_again_at_all_its_registrars(alice: Person) -> None:
    for provider in ("porkbun", "godaddy"):
        await hold(alice, await connect(alice, provider), "a.com")
    await own(alice, "a.com", registrar=None)
    found = finding(await report(alice), "duplicate_across_registrars")
    assert found["suggested_action"]["path"] == f"{SYNC}?provider=godaddy&provider=porkbun"
    assert found["message"] == (
        "a.com is listed by GoDaddy (default), Porkbun (default). One of them may be out of date."
    )


async def test_the_other_form_of_a_name_is_one_finding(alice: Person) -> None:
    porkbun = await connect(alice)
    await own(alice, "fass.com")
    await hold(alice, porkbun, "xn--fa-hia.com")
    assert lines(await report(alice)) == ["warn idn_form_mismatch"]


@pytest.mark.parametrize(("days", "expected"), [(1, 0), (3, 1)])
async def test_a_listing_is_too_old_after_two_days(alice: Person, days: int, expected: int) -> None:
    await connect(alice)
    clock.move(timedelta(days=days))
    assert len((await report(alice, category="stale_snapshot"))["findings"]) == expected


@pytest.mark.parametrize(
    ("severity", "expected"),
    [("critical", 1), ("high", 2), ("warn", 3), ("info", 4)],
)
async def test_a_filter_by_severity_keeps_the_more_urgent_ones(
    alice: Person, severity: str, expected: int
) -> None:
    porkbun = await connect(alice)
    await own(alice, "a.com", "b.com", "c.com", "d.com")
    await hold(alice, porkbun, "a.com", status="redemption")
    await hold(alice, porkbun, "b.com", expires_at=ahead(300))
    await hold(alice, porkbun, "c.com", expires_at=ahead(400))
    await hold(alice, porkbun, "d.com", locked=False)
    found = await report(alice, min_severity=severity)
    assert (len(found["findings"]), sum(found["summary"]["by_category"].values())) == (expected, expected)


async def test_findings_of_one_severity_are_in_the_order_of_their_domains(alice: Person) -> None:
    porkbun = await connect(alice)
    names = ["a-b.com", "a.com", "a0.com", "b.com", "xn--bcher-kva.com"]
    await own(alice, *reversed(names))
    await hold(alice, porkbun, *names, locked=False)
    assert [each["domain"] for each in (await report(alice))["findings"]] == names


async def test_each_page_begins_behind_the_one_before(alice: Person) -> None:
    porkbun = await connect(alice)
    names = [f"d{number}.com" for number in range(5)]
    await own(alice, *names)
    await hold(alice, porkbun, *names, locked=False)
    seen, cursor = list[str](), None
    while cursor or not seen:
        page = await report(alice, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [each["domain"] for each in page["findings"]]
        cursor = page["next_cursor"]
    assert seen == names


@pytest.mark.parametrize("role", ["admin", "manager", "accountant", "viewer"])
async def test_each_role_reads_the_report(alice: Person, charlie: Person, role: str) -> None:
    await hold(alice, await connect(alice), "a.com")
    await join(alice, charlie, role)
    assert lines(await report(charlie, headers=of(alice))) == ["warn missing_in_portfolio"]


async def test_a_stranger_reads_no_report(alice: Person, bob: Person) -> None:
    assert code(await bob.get(REPORT, headers=of(alice))) == (404, "portfolio_not_found")


async def test_nobody_reads_a_report_without_credentials(anyone: Client) -> None:
    assert (await anyone.get(REPORT)).status_code == 401


async def test_the_report_of_the_sandbox_is_another_one(alice: Person) -> None:
    await hold(alice, await connect(alice), "a.com")
    assert (await report(alice.test))["findings"] == []


async def test_an_empty_portfolio_is_not_confirmed_to_be_right(alice: Person) -> None:
    assert (await report(alice))["summary"]["ok"] is False


async def test_a_registrar_that_was_never_listed_is_named(alice: Person) -> None:
    ok(await alice.put(f"{REGISTRARS}/manual:corner", json={}))
    [named] = (await report(alice))["not_checked"]
    assert (named["provider"], named["reason"], named["listed_at"]) == ("manual:corner", "never_synced", None)

"""GET /v1/portfolio/registrars/reconcile."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from builders.demo.registrars.fake import FakeServer
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.registrars.store import reconcile as store
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.parking.make import database_of
from tests.portfolio.registrars import make
from tests.portfolio.registrars.reconcile_make import (
    REPORT,
    ahead,
    connect,
    finding,
    hold,
    named,
    own,
    report,
)
from tests.portfolio.registrars.sync import fake_of, ok, sync
from tests.portfolio.team.make import join, of

pytestmark = pytest.mark.usefixtures("noon")
ALL = [
    ("critical", "pending_transfer_out_unexpected", "leaving.com"),
    ("critical", "redemption", "deleted.com"),
    ("critical", "redemption", "released.com"),
    ("critical", "expired_at_registrar", "expired.com"),
    ("critical", "expired_at_registrar", "late.com"),
    ("high", "missing_at_registrar", "missing.com"),
    ("high", "expiry_mismatch", "earlier.com"),
    ("high", "auto_renew_mismatch", "soon.com"),
    ("high", "dropped_but_active", "dropped.com"),
    ("warn", "expiry_mismatch", "later.com"),
    ("warn", "auto_renew_mismatch", "on.com"),
    ("warn", "sold_but_still_held", "sold.com"),
    ("warn", "duplicate_across_registrars", "twice.com"),
    ("warn", "registrar_mismatch", "moved.com"),
    ("warn", "idn_form_mismatch", "xn--fa-hia.com"),
    ("warn", "missing_in_portfolio", "new.com"),
    ("warn", "stale_snapshot", None),
    ("warn", "price_changed", "dearer.com"),
    ("info", "price_changed", "cheaper.com"),
    ("info", "lock_off", "unlocked.com"),
    ("info", "privacy_off", "public.com"),
]
Status = PortfolioDomainStatus
LIST_TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p') AND (relname LIKE 'portfolio\\_%' OR relname LIKE 'kit\\_outbox%')
      AND NOT relispartition ORDER BY 1
"""


async def fill(alice: Person) -> None:
    """Each category, each of its severities once, and domains without a difference."""
    porkbun, godaddy = await connect(alice), await connect(alice, "godaddy")
    await connect(alice, "dynadot", listed_h=50, complete_h=50)
    await own(alice, "clean.com", "xn--bcher-kva.com")
    await hold(alice, porkbun, "clean.com", "xn--bcher-kva.com")
    await own(alice, "unlocked.de", locked=False, privacy=None)  # of a country, and never on
    await hold(alice, porkbun, "unlocked.de", locked=False, privacy=False)
    await _fill_states(alice, porkbun)
    await _fill_differences(alice, porkbun)
    await own(alice, "missing.com", registrar="porkbun LLC")
    await own(alice, "twice.com")
    await hold(alice, porkbun, "twice.com")
    await hold(alice, godaddy, "twice.com")
    await own(alice, "moved.com")
    await hold(alice, godaddy, "moved.com")
    await own(alice, "fass.com")
    await hold(alice, porkbun, "new.com", "xn--fa-hia.com")
    await hold(alice, porkbun, "gone.com", status="gone")
    await hold(alice, porkbun, "coming.com", status="pending")
    await hold(alice, porkbun, "former.com", missing_since=ahead(-1))


async def _fill_states(alice: Person, porkbun: UUID) -> None:
    await own(alice, "leaving.com", "deleted.com", "released.com")
    await hold(alice, porkbun, "leaving.com", status="transferring_out")
    await hold(alice, porkbun, "deleted.com", status="redemption", auto_renew=False)
    await hold(alice, porkbun, "released.com", status="pending_delete")
    await own(alice, "expired.com", expires_at=ahead(-3))
    await hold(alice, porkbun, "expired.com", status="expired", expires_at=ahead(-3))
    await own(alice, "late.com", expires_at=ahead(-2))
    await hold(alice, porkbun, "late.com", expires_at=ahead(-2))
    await own(alice, "renewing.com", expires_at=ahead(0))
    await hold(alice, porkbun, "renewing.com", expires_at=ahead(0))
    await own(alice, "dropped.com", "dropping.com", status=Status.DROPPED)
    await hold(alice, porkbun, "dropped.com")
    await hold(alice, porkbun, "dropping.com", auto_renew=False, expires_at=ahead(200), locked=False, price="99")
    await own(alice, "sold.com", status=Status.SOLD)
    await own(alice, "moving.com", status=Status.SOLD)
    await hold(alice, porkbun, "sold.com", auto_renew=False, expires_at=ahead(20))
    await hold(alice, porkbun, "moving.com", status="transferring_out")


async def _fill_differences(alice: Person, porkbun: UUID) -> None:
    await own(alice, "earlier.com", "later.com", "rounded.com", expires_at=ahead(100))
    await hold(alice, porkbun, "earlier.com", expires_at=ahead(98.9))
    await hold(alice, porkbun, "later.com", expires_at=ahead(101.1))
    await hold(alice, porkbun, "rounded.com", expires_at=ahead(99.01))
    await own(alice, "soon.com", expires_at=ahead(29))
    await hold(alice, porkbun, "soon.com", auto_renew=False, expires_at=ahead(29))
    await own(alice, "on.com", auto_renew=False)
    await hold(alice, porkbun, "on.com")
    await own(alice, "dearer.com", "cheaper.com", "euro.com", "equal.com")
    await hold(alice, porkbun, "dearer.com", price="10.01")
    await hold(alice, porkbun, "cheaper.com", price="9.99")
    await hold(alice, porkbun, "euro.com", price="9.99", currency="EUR")
    await hold(alice, porkbun, "equal.com", price="10")
    await own(alice, "unlocked.com", locked=False)
    await hold(alice, porkbun, "unlocked.com", locked=False)
    await own(alice, "public.com", privacy=None)
    await hold(alice, porkbun, "public.com", privacy=False)


async def test_each_category_is_found_and_nothing_else(alice: Person) -> None:
    await fill(alice)
    found = await report(alice)
    assert named(found) == ALL
    assert found["count"] == len(ALL)
    assert found["next_cursor"] is None
    assert found["writes"] is False
    assert found["redacted"] == []
    assert found["summary"]["by_severity"] == {"critical": 5, "high": 4, "warn": 9, "info": 3}
    assert found["summary"]["by_category"]["expiry_mismatch"] == 2
    assert len(found["summary"]["by_category"]) == 16
    assert found["summary"]["by_provider"] == {"dynadot": 1, "godaddy": 1, "porkbun": 19}
    assert found["summary"]["ok"] is False
    assert [(each["provider"], each["reason"]) for each in found["not_checked"]] == [("dynadot", "stale")]


async def _send(alice: Person, each: dict[str, Any]) -> None:
    action = each["suggested_action"]
    answer = await alice.request(action["method"], action["path"], json=action["body"])
    assert answer.is_success, answer.text


async def test_a_suggested_action_resolves_its_finding(alice: Person) -> None:
    await fill(alice)
    found = await report(alice)
    patched = [
        each
        for each in found["findings"]
        if each["suggested_action"] and each["suggested_action"]["path"].startswith("/v1/portfolio/domains")
    ]
    assert sorted({each["category"] for each in patched}) == [
        *("expiry_mismatch", "idn_form_mismatch", "missing_at_registrar"),
        *("missing_in_portfolio", "price_changed", "redemption", "registrar_mismatch", "sold_but_still_held"),
    ]
    sent = [each for each in patched if each["category"] != "sold_but_still_held"]
    for each in sent:
        await _send(alice, each)
    left = await report(alice)
    assert {each["id"] for each in left["findings"]}.isdisjoint(each["id"] for each in sent)
    # The other form of the name is in the portfolio still, and no registrar has it.
    expected = {("high", "missing_at_registrar", "fass.com"), *ALL} - set(named({"findings": sent}))
    assert sorted(named(left), key=str) == sorted(expected, key=str)
    assert (await report(alice))["findings"] == left["findings"]  # and their ids stay


@pytest.mark.usefixtures("calls_fakes")
async def test_a_sold_domain_that_is_still_held_is_handed_over_with_its_auth_code(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await make.connect(alice, fake_of("godaddy", "sold.com"), fakes)
    domain = await add(alice, "sold.com")
    ok(await alice.patch(f"{DOMAINS}/sold.com", json={"status": "sold"}))
    await sync(alice, worker)
    found = finding(await report(alice), "sold_but_still_held")
    assert found["message"] == (
        "sold.com has left the portfolio, but GoDaddy still holds it. Transfer it to its new holder."
    )
    action = found["suggested_action"]
    assert action == {"method": "POST", "path": f"{DOMAINS}/{domain['id']}/auth-code", "body": None}
    answer = ok(await alice.post(action["path"]))
    assert (answer["domain"], answer["delivery"], bool(answer["auth_code"])) == ("sold.com", "returned", True)


@pytest.mark.usefixtures("calls_fakes")
async def test_what_the_portfolio_lacks_is_filled_by_the_sync_and_no_finding(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await make.connect(alice, fake_of("porkbun", "a.com", "b.com"), fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    await add(alice, "b.com")
    assert named(await report(alice, min_severity="warn")) == []  # b.com has no registrar yet
    await sync(alice, worker)
    assert named(await report(alice, min_severity="warn")) == []
    domains = ok(await alice.get(DOMAINS))["items"]
    assert {each["domain"]: each["registrar"] for each in domains} == {"a.com": "Porkbun", "b.com": "Porkbun"}


async def test_a_finding_says_what_differs(alice: Person) -> None:
    await fill(alice)
    found = await report(alice)
    earlier = finding(await report(alice, category="expiry_mismatch", min_severity="high"), "expiry_mismatch")
    assert [earlier[each][:10] for each in ("portfolio_value", "registrar_value")] == [_day(100), _day(98.9)]
    assert earlier["delta_days"] == -1
    assert earlier["provider"] == "porkbun"
    assert earlier["dashboard_url"].startswith("https://porkbun.com/")
    added = finding(found, "missing_in_portfolio")["suggested_action"]
    assert (added["method"], added["path"]) == ("POST", "/v1/portfolio/domains")
    expected = {"domain": "new.com", "registrar": "Porkbun", "expires_at": _day(365), "auto_renew": True}
    assert added["body"] | {"expires_at": added["body"]["expires_at"][:10]} == expected
    assert finding(found, "duplicate_across_registrars")["registrar_value"] == ["godaddy", "porkbun"]
    assert finding(found, "registrar_mismatch")["registrar_value"] == "GoDaddy"
    stale = finding(found, "stale_snapshot")["suggested_action"]
    assert (stale["path"], stale["body"]) == ("/v1/portfolio/registrars/sync?provider=dynadot", None)


def _day(days: float) -> str:
    return str(ahead(days).date())


async def test_pages_and_filters(alice: Person) -> None:
    await fill(alice)
    whole = await report(alice)
    pages: list[dict[str, Any]] = []
    cursor = None
    while cursor or not pages:
        pages.append(await report(alice, limit=4, **({"cursor": cursor} if cursor else {})))
        cursor = pages[-1]["next_cursor"]
    assert [each for page in pages for each in page["findings"]] == whole["findings"]
    assert all(page["summary"] == whole["summary"] for page in pages)
    urgent = await report(alice, min_severity="high", provider="Porkbun")
    assert {each["severity"] for each in urgent["findings"]} == {"critical", "high"}
    assert urgent["not_checked"] == []
    stale = await report(alice, provider="dynadot")
    assert named(stale) == [("warn", "stale_snapshot", None)]
    assert stale["not_checked"][0]["reason"] == "stale"
    assert named(await report(alice, category="lock_off", provider="godaddy")) == []
    answer = await alice.get(REPORT, params={"category": "nothing"})
    assert answer.status_code == 422


async def test_a_viewer_sees_findings_without_money_and_a_stranger_nothing(
    alice: Person, bob: Person, people: MakePerson
) -> None:
    await fill(alice)
    await join(alice, bob, "viewer")
    seen = await report(bob, headers=of(alice))
    prices = [(None, "price_changed", "cheaper.com"), (None, "price_changed", "dearer.com")]
    others = [each for each in ALL if each[1] != "price_changed"]
    assert named(seen) == [*others[:-2], *prices, *others[-2:]]
    assert seen["redacted"] == ["finance"]
    assert "9.99" not in str(seen)
    price = next(each for each in seen["findings"] if each["category"] == "price_changed")
    assert (price["portfolio_value"], price["registrar_value"], price["suggested_action"]) == (None, None, None)
    warned = await report(bob, min_severity="warn", headers=of(alice))
    assert {each["category"] for each in warned["findings"]} == {
        each for level, each, _ in ALL if level != "info"
    } - {"price_changed"}
    owned = (await report(alice))["summary"]["by_severity"]
    assert seen["summary"]["by_severity"] == owned | {"warn": owned["warn"] - 1, "info": owned["info"] - 1}
    assert (await report(bob))["findings"] == []
    stranger = await people("carol", Preset.DOMAINER_FULL)
    assert (await stranger.get(REPORT, headers=of(alice))).status_code == 404


async def test_the_database_is_not_written(alice: Person) -> None:
    await fill(alice)
    async with database_of(alice).transaction() as conn:
        rows = await (await conn.execute(LIST_TABLES)).fetchall()
        assert len(rows) > 20
        for (table,) in rows:  # whoever writes to one of them now waits, and fails
            await conn.execute(sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(sql.Identifier(table)))
        assert named(await report(alice)) == ALL
    async with database_of(alice).connection() as conn, conn.transaction():
        await store.begin(conn)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            await conn.execute("DELETE FROM portfolio_domains")

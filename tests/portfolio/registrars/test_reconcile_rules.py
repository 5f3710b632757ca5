"""What a comparison with registrars finds, and what it does not."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains.records import Ownership, PortfolioDomainStatus as Status
from builders.portfolio.registrars.findings import Filters
from builders.portfolio.registrars.providers import read_names
from builders.portfolio.registrars.reconcile import expect_departure, read_context
from tests.cast import Person
from tests.portfolio.parking.make import database_of
from tests.portfolio.reads import multiply, traced
from tests.portfolio.registrars.reconcile_make import ahead, connect, finding, hold, named, own, report


async def test_what_is_unknown_is_no_difference(alice: Person) -> None:
    porkbun, silent = await connect(alice), await connect(alice, "namesilo")
    unknown: dict[str, Any] = {
        "expires_at": None,
        "auto_renew": None,
        "locked": None,
        "privacy": None,
        "price": None,
    }
    unknown |= {"currency": None, "status": "unknown"}
    await own(alice, "silent.com", registrar="NameSilo, LLC")
    await hold(alice, silent, "silent.com", **unknown)
    none: dict[str, Any] = {"registrar": None, "expires_at": None, "auto_renew": None}
    none |= {"locked": None, "privacy": None, "renewal_price": None}
    await own(alice, "unset.com", **none)
    await hold(alice, porkbun, "unset.com")
    found = await report(alice)
    assert found["findings"] == []
    assert found["summary"]["ok"] is True
    assert found["summary"]["compared"] == 2


async def test_a_domain_is_missing_only_when_everything_was_listed_since(alice: Person, bob: Person) -> None:
    await own(alice, "missing.com")
    assert named(await report(alice)) == []
    porkbun = await connect(alice, complete_h=None)
    found = await report(alice)
    assert named(found) == []
    assert found["not_checked"][0]["reason"] == "incomplete"
    assert found["not_checked"][0]["categories"] == ["missing_at_registrar"]
    async with database_of(alice).transaction() as conn:
        await conn.execute("UPDATE portfolio_registrars_snapshots SET last_complete_at = taken_at")
    today = {"acquired_on": clock.now().date()}
    await own(alice, "bought-today.com", **today)  # after the listing, perhaps
    await own(alice, "elsewhere.com", registrar="Epik")
    await own(alice, "nameless.com", registrar=None)
    await own(alice, "leased.com", status=Status.LEASED, ownership=Ownership.LEASED)  # in the lessor's account
    await own(alice, "tied.com", registrar=None, connection_id=porkbun)
    await own(alice, "over.com", expires_at=ahead(-90))
    found = await report(alice)
    missing = ("missing.com", "over.com", "tied.com")
    assert named(found) == [("high", "missing_at_registrar", each) for each in missing]
    statuses = [each["suggested_action"]["body"]["status"] for each in found["findings"]]
    assert statuses == ["transferred_out", "dropped", "transferred_out"]
    second = await connect(alice, name="second", listed_h=None)
    found = await report(alice)  # the second account can have those that name the registrar alone
    assert named(found) == [("high", "missing_at_registrar", "tied.com")]
    assert [each["reason"] for each in found["not_checked"]] == ["never_synced"]
    assert second != porkbun
    assert (await report(bob))["not_checked"] == []


async def test_a_failed_or_old_listing_is_not_compared(alice: Person) -> None:
    failed = await connect(alice, status="auth_failed")
    old = await connect(alice, "manual:epik", listed_h=24 * 36, complete_h=24 * 36)
    slow = await connect(alice, "gandi", hours=72, listed_h=100, complete_h=100)
    disabled = await connect(alice, "ovh", is_enabled=False, listed_h=50, complete_h=50)
    for connection, name in ((failed, "a.com"), (old, "b.com"), (slow, "c.com"), (disabled, "d.com")):
        await hold(alice, connection, name)
    await own(alice, "missing.com")
    found = await report(alice)
    assert named(found) == [
        ("warn", "missing_in_portfolio", "a.com"),
        ("warn", "missing_in_portfolio", "c.com"),
        ("warn", "stale_snapshot", None),
    ]
    assert finding(found, "stale_snapshot")["suggested_action"] is None  # a person sends the file
    reasons = [(each["provider"], each["reason"]) for each in found["not_checked"]]
    assert reasons == [("manual:epik", "stale"), ("ovh", "disabled"), ("porkbun", "failed")]


async def test_the_connection_of_a_domain_counts_where_several_hold_it(alice: Person) -> None:
    porkbun, godaddy = await connect(alice), await connect(alice, "godaddy")
    await own(alice, "tied.com", connection_id=porkbun)
    await own(alice, "loose.com", registrar=None)
    for connection, days in ((porkbun, 365), (godaddy, 300)):
        await hold(alice, connection, "tied.com", expires_at=ahead(days))
    await hold(alice, godaddy, "loose.com", expires_at=ahead(300))
    found = await report(alice)
    assert named(found) == [
        ("high", "expiry_mismatch", "loose.com"),
        ("warn", "duplicate_across_registrars", "tied.com"),
    ]
    assert found["summary"]["compared"] == 2


async def test_a_name_that_no_portfolio_can_have_has_no_suggestion(alice: Person) -> None:
    await hold(alice, await connect(alice), "xn--ls8h.la")  # an emoji, which IDNA 2008 does not allow
    assert finding(await report(alice), "missing_in_portfolio")["suggested_action"] is None


async def test_a_transfer_is_expected_after_the_auth_code_was_requested(alice: Person) -> None:
    porkbun = await connect(alice)
    await own(alice, "leaving.com")
    await hold(alice, porkbun, "leaving.com", status="transferring_out")
    assert finding(await report(alice), "pending_transfer_out_unexpected")["severity"] == "critical"
    async with database_of(alice).transaction() as conn:
        await expect_departure(conn, account_id=alice.account.id, domain="leaving.com", at=clock.now())
    assert named(await report(alice)) == []
    clock.move(timedelta(days=31))
    assert named(await report(alice)) == [("warn", "stale_snapshot", None)]


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("GoDaddy.com, LLC", "godaddy"),
        ("GoDaddy.com, LLC (146)", "godaddy"),
        ("Namecheap.com", "namecheap"),
        ("Porkbun, LLC - 2", "porkbun"),
        ("Corner - 2", None),
        ("Name.com, Inc.", "namecom"),
        ("Porkbun LLC", "porkbun"),
        ("NAMECHEAP INC", "namecheap"),
        ("Amazon Registrar, Inc.", "route53"),
        ("Cloudflare, Inc.", "cloudflare"),
        ("OVH sas", "ovh"),
        ("Epik", "manual:epik"),
        ("manual:epik", "manual:epik"),
        ("Manual: Epik", "manual:epik"),
        ("eNom, LLC", None),
        ("LLC", None),
        ("", None),
    ],
)
def test_a_registrar_is_known_by_its_names(text: str, provider: str | None) -> None:
    providers = ["cloudflare", "godaddy", "namecheap", "namecom", "ovh", "porkbun", "route53", "manual:epik"]
    found = read_names([text, "eNom, LLC"], providers=providers)
    assert found[text].provider == provider
    assert found["eNom, LLC"].accepted == {"namecheap"}


async def test_the_names_of_registrars_that_a_comparison_reads_are_limited(
    alice: Person, conn: Conn, tmp_path: Path
) -> None:
    porkbun = await connect(alice)
    await own(alice, "harbour.com", "pier.com")
    await own(alice, "other.com", registrar="Other 1")
    await multiply(conn, account_id=alice.account.id, domain="other.com", count=1_500)
    await conn.execute("UPDATE portfolio_domains SET registrar = domain WHERE domain LIKE 'copy%'")
    filters = Filters()
    with traced(conn, tmp_path) as read:
        context = await read_context(conn, account_id=alice.account.id, filters=filters, shows_finance=True)
    assert read.rows < 1_100
    assert (context.parameters["accepted"], context.parameters["accepted_of"]) == (["porkbun"], [porkbun])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GoDaddy", None),  # of another registrar, which is not connected
        ("Porkbun LLC", {"main", "second"}),  # neither holds it
        ("PORKBUN.COM", {"main", "second"}),
        ("main", {"main"}),
        ("Porkbun (Second)", {"second"}),
        ("{id}", {"main"}),
    ],
)
@pytest.mark.parametrize("incomplete", [None, "main", "second"])
async def test_a_domain_is_missing_at_the_registrar_or_connection_that_it_names(
    alice: Person, text: str, expected: set[str] | None, incomplete: str | None
) -> None:
    connections = {
        name: await connect(alice, name=name, complete_h=None if name == incomplete else 1)
        for name in ("main", "second")
    }
    await own(alice, "missing.com", registrar=text.replace("{id}", str(connections["main"])))
    missing = expected is not None and incomplete not in expected
    assert named(await report(alice)) == ([("high", "missing_at_registrar", "missing.com")] if missing else [])


async def test_the_name_of_a_connection_is_no_other_registrar(alice: Person) -> None:
    main = await connect(alice, name="main")
    await own(alice, "a.com", registrar="main")
    await own(alice, "b.com", registrar="Porkbun (main)")
    await hold(alice, main, "a.com", "b.com")
    assert named(await report(alice)) == []

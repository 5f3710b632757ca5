"""The lives of names after their expiry: what the API says on sample dates, and the sources of the rules."""

import tomllib
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files

import pytest

from builders.kit.values import clock
from builders.portfolio.domains import lifecycle, names
from builders.portfolio.domains.records import Lifecycle
from builders.portfolio.domains.today import Today
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.team.make import code, join, of

EXPIRY = datetime(2027, 5, 10, tzinfo=UTC)
STATES = {
    "A": "active",
    "E": "expiring",
    "G": "grace",
    "R": "redemption",
    "Q": "quarantine",
    "P": "pending_delete",
    "X": "expired",
    "U": "unknown",
}
DAYS = (-31, 0, 1, 10, 30, 31, 45, 46, 71, 100)  # after the expiry
# By the quotations in lifecycle_rules.toml: the state on each of the days.
LIVES = {
    "com": "A E G G G G G R R X",
    "de": "A E R R R U U U U U",
    "co.uk": "A E G G G G G G G X",
    "uk": "A E G G G G G G G X",
    "eu": "A E Q Q Q Q U U U U",
    "fr": "A E R R R U U U U U",
    "nl": "A E Q Q Q Q U U U U",
    "ca": "A E G G G G G U U U",
    "com.au": "A E G G G P X X X X",
    "co": "A E G G G G G U U U",
    "ch": "A E Q Q Q Q U U U U",
    "at": "A E Q Q Q Q Q Q U U",
    "es": "A E G P X X X X X X",
    "it": "A E G G U U U U U U",
    "se": "A E G G G G G G P X",
    **dict.fromkeys(("io", "ai", "us", "pl", "in", "me", "tv", "cc"), "A E U U U U U U U U"),
}


async def test_each_life_is_that_of_the_quotation(alice: Person, bob: Person, charlie: Person) -> None:
    clock.move(EXPIRY - timedelta(days=60) - clock.now())
    added = {tld: (await add(alice, f"harbour.{tld}", expires_at="2027-05-10"))["id"] for tld in LIVES}
    await join(alice, charlie, "viewer")
    found: dict[str, list[str]] = {tld: [] for tld in LIVES}
    for days in DAYS:
        with clock.moved(EXPIRY + timedelta(days=days, hours=12) - clock.now()):
            items = (await alice.get(DOMAINS, params={"limit": 100})).json()["items"]
            theirs = (await charlie.get(DOMAINS, params={"limit": 100}, headers=of(alice))).json()["items"]
            states = {each["tld"]: each["lifecycle"] for each in items}
            assert states == {each["tld"]: each["lifecycle"] for each in theirs}
        for tld, state in states.items():
            found[tld].append(state)
    assert found == {tld: [STATES[each] for each in states.split()] for tld, states in LIVES.items()}
    assert code(await bob.get(f"{DOMAINS}/{added['de']}")) == (404, "portfolio_domain_not_found")


@pytest.mark.parametrize("tld", LIVES)
def test_no_name_has_expired_that_can_still_be_kept(tld: str) -> None:
    dates = lifecycle.compute_drop_dates(tld, EXPIRY)
    for days in range(1, 130):
        now = EXPIRY + timedelta(days=days)
        state = lifecycle.held_state_of(tld, EXPIRY, [], today=Today(now)).lifecycle
        if dates.renewable_until is not None and now <= dates.renewable_until:
            assert state in {Lifecycle.GRACE, Lifecycle.REDEMPTION, Lifecycle.QUARANTINE}, days
        elif state is Lifecycle.EXPIRED:
            assert dates.drops_at is not None
            assert now > dates.drops_at


@pytest.mark.parametrize(
    ("tld", "keep", "drop", "page"),
    [
        ("de", "2027-06-09", "2027-06-09", "denic.de"),
        ("co.uk", "2027-08-08", "2027-08-09", "theukdomain.uk"),
        ("eu", "2027-06-19", "2027-06-19", "help.eurid.eu"),
        ("com.au", "2027-06-09", "2027-06-11", "www.auda.org.au"),
        ("se", "2027-07-19", "2027-07-26", "www.iis.se"),
        ("ca", "2027-06-24", None, "cira.ca"),
        ("at", None, "2027-07-05", "www.nic.at"),
        ("io", None, None, None),
    ],
)
async def test_the_dates_of_a_country_code_have_their_source(
    alice: Person, tld: str, keep: str | None, drop: str | None, page: str | None
) -> None:
    dates = (await add(alice, f"harbour.{tld}", expires_at="2027-05-10"))["drop_dates"]
    assert [dates["renewable_until"], dates["drops_at"]] == [each and f"{each}T00:00:00Z" for each in (keep, drop)]
    assert page is None if dates["source"] is None else dates["source"].split("/")[2] == page


def test_each_life_has_a_dated_quotation_with_its_address() -> None:
    text = files("builders.portfolio.domains").joinpath("lifecycle_rules.toml").read_text(encoding="utf-8")
    suffixes = set[str]()
    for life in tomllib.loads(text)["lives"]:
        assert life["sources"], life["suffixes"]
        for source in life["sources"]:
            assert source["address"].startswith(("https://", "http://"))
            assert source["quotation"].strip().count(". ") <= 2, source["quotation"]
            assert date(2026, 1, 1) <= source["read_on"] <= clock.now().date()
        assert all(phase["days"] > 0 for phase in life["phases"])
        assert not suffixes & set(life["suffixes"])
        suffixes |= set(life["suffixes"])
    for suffix in suffixes - {"gtld"}:
        assert names.parse_name(f"harbour.{suffix}").tld == suffix

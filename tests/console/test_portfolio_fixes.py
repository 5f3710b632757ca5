"""What the button of a difference does, and what the page after it says, row by row."""

import html
import re
from typing import Any

import httpx
import pytest

from builders.console import fixes
from builders.kit.http.internal_calls import Answer
from builders.kit.values import clock
from builders.portfolio.registrars.findings import FindingCategory
from tests.cast import Person
from tests.console.visitor import Visitor, action_of, fields_of
from tests.portfolio.registrars.reconcile_make import REPORT, connect, hold, own
from tests.portfolio.registrars.test_reconcile import fill

PAGE = "/console/portfolio/registrars/reconcile"
NOTHING = "\N{EN DASH}"
SYNCED = "A sync has started."
# By category and domain: the button, what is said, and what is left to the person.
TOLD = {
    ("pending_transfer_out_unexpected", "leaving.com"): (
        "I have done it: sync again",
        SYNCED,
        "reject the transfer",
    ),
    ("redemption", "deleted.com"): ("I have done it: sync again", SYNCED, "Restore it at Porkbun"),
    ("redemption", "released.com"): ("Mark as dropped", "Changed in the portfolio: status dropped.", NOTHING),
    ("expired_at_registrar", "expired.com"): (
        "I have done it: sync again",
        SYNCED,
        "Renew expired.com at Porkbun.",
    ),
    ("missing_at_registrar", "missing.com"): (
        "Mark as transferred out",
        "Changed in the portfolio: status transferred out.",
        NOTHING,
    ),
    ("expiry_mismatch", "earlier.com"): (
        "Take the registrar's date",
        "Changed in the portfolio: expires at",
        NOTHING,
    ),
    ("dropped_but_active", "dropped.com"): (
        "Switch auto-renew at the registrar",
        "Porkbun has not taken the setting.",
        "Switch auto-renew off at the registrar's website.",
    ),
    ("auto_renew_mismatch", "soon.com"): (
        "Switch auto-renew at the registrar",
        "Porkbun has not taken the setting.",
        "Switch auto-renew on at the registrar's website.",
    ),
    ("duplicate_across_registrars", "twice.com"): (
        "I have done it: sync again",
        SYNCED,
        "remove it from the account of the other one",
    ),
    ("registrar_mismatch", "moved.com"): (
        "Take the registrar's name",
        "Changed in the portfolio: registrar GoDaddy.",
        NOTHING,
    ),
    ("idn_form_mismatch", "xn--fa-hia.com"): ("Add to the portfolio", "Added to the portfolio.", NOTHING),
    ("missing_in_portfolio", "new.com"): ("Add to the portfolio", "Added to the portfolio.", NOTHING),
    ("stale_snapshot", None): ("Sync again", SYNCED, NOTHING),
    ("price_changed", "dearer.com"): (
        "Take the registrar's price",
        "Changed in the portfolio: renewal price 10.01 USD.",
        NOTHING,
    ),
    ("lock_off", "unlocked.com"): (
        "I have done it: sync again",
        SYNCED,
        "Switch the transfer lock of unlocked.com on",
    ),
    ("privacy_off", "public.com"): ("I have done it: sync again", SYNCED, "Switch the privacy of public.com on"),
}
ELSEWHERE = {
    "sold_but_still_held",  # an auth code is a secret, and no button requests it
    "suspicious_drop",  # a sync, as of a stale listing
}


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.move(clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - clock.now())


def rows_of(page: httpx.Response) -> list[list[str]]:
    """Return the texts of the cells of each row."""
    rows = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", page.text, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", each, re.DOTALL) for each in rows]
    return [[" ".join(html.unescape(re.sub(r"<[^>]+>", "", each)).split()) for each in row] for row in cells]


async def findings(owner: Person) -> list[dict[str, Any]]:
    async with owner.browser() as api:
        found: list[dict[str, Any]] = (await api.get(REPORT, params={"limit": 100})).json()["findings"]
    return found


def test_each_category_is_in_the_table() -> None:
    assert {name for name, _ in TOLD} | ELSEWHERE == {each.value for each in FindingCategory}


async def test_each_difference_tells_what_was_done_and_what_is_left(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    shown = await browser.open(f"{PAGE}?limit=50")
    buttons = dict(re.findall(r'name="only" value="([\w-]+)">([^<]*)<', html.unescape(shown.text)))
    told = {}
    for each in await findings(alice):
        key = (each["category"], each["domain"])
        if key not in TOLD:
            continue
        done = await browser.submit(await browser.open(f"{PAGE}?limit=50"), "findings-fix", only=each["id"])
        assert done.status_code == 200, done.text
        assert 'role="status"' not in done.text
        [row] = rows_of(done)
        _, happened, left = TOLD[key]
        label = buttons[each["id"]]
        told[key] = (label, happened if happened in row[2] else row[2], left if left in row[3] else row[3])

    assert told == TOLD


async def test_only_what_a_request_resolves_alone_is_selected_with_others(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{PAGE}?limit=50")
    manual = {each["id"] for each in await findings(alice) if each["manual_step"]}

    assert manual
    assert not manual & set(re.findall(r'type="checkbox" name="ids" value="([\w-]+)"', page.text))


async def test_a_step_of_a_person_is_recorded_only_by_the_button_that_says_so(
    browser: Visitor, alice: Person
) -> None:
    """At a registrar without an API the request records what the person has done there."""
    connection = await connect(alice, "manual:quay")
    await own(alice, "harbour.com", registrar="quay", locked=True)
    await hold(alice, connection, "harbour.com", locked=False)
    page = await browser.open(PAGE)
    assert "Fix the selected differences" not in page.text
    [lock] = [each for each in await findings(alice) if each["category"] == "lock_off"]
    done = await browser.submit(page, "findings-fix", only=lock["id"])

    assert "I have done it: record it" in page.text
    assert rows_of(done)[0][2] == "Recorded in the list of the registrar: locked on."


async def test_differences_with_one_request_send_it_once(browser: Visitor, alice: Person) -> None:
    connection = await connect(alice)
    await own(alice, "one.com", "two.com", expires_at=clock.now())
    await hold(alice, connection, "one.com", "two.com", status="expired", expires_at=clock.now())
    page = await browser.open(PAGE)
    done = await browser.submit(page, "findings-fix", ids=[each["id"] for each in await findings(alice)])

    assert len(set(re.findall(r"/portfolio/runs/[\w-]+", done.text))) == 1
    assert len(rows_of(done)) == 2


async def test_what_is_resolved_meanwhile_is_counted_and_not_sent(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(PAGE)
    ids = [each["id"] for each in await findings(alice) if each["category"] == "price_changed"]
    async with alice.browser() as api:
        price = {"renewal_price": {"amount": "10.01", "currency": "USD"}}
        assert (await api.patch("/v1/portfolio/domains/dearer.com", json=price)).is_success
    done = await browser.submit(page, "findings-fix", ids=ids)

    assert [row[0] for row in rows_of(done)] == ["cheaper.com", "1 other"]


async def test_the_same_form_sent_twice_shows_the_first_page(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(PAGE)
    [new] = [each["id"] for each in await findings(alice) if each["category"] == "missing_in_portfolio"]
    path, fields = action_of(page, "findings-fix"), {**fields_of(page, "findings-fix"), "only": new}
    first, second = [await browser.post_form(path, fields) for _ in range(2)]

    assert (second.status_code, second.text) == (first.status_code, first.text)
    assert second.headers["content-security-policy"] == first.headers["content-security-policy"]


def test_a_refused_request_is_told_with_its_reason() -> None:
    action = {"method": "PATCH", "path": "/v1/portfolio/domains/1", "body": {"status": "dropped"}}
    finding = {"domain": "harbour.com", "suggested_action": action, "manual_step": None, "dashboard_url": None}
    row = fixes.told(finding, Answer(404, {"detail": "There is no such domain."}))

    assert (row.kind, row.done) == ("bad", "Refused: There is no such domain.")

"""The menu of the console, the accounts that a person can open, and how times are written."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from httpx import Response

from builders.console import views
from builders.console.navigation import menu
from builders.console.pages import PAGES
from builders.console.spaces import Space
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.console.portfolio_scene import add, in_days
from tests.console.visitor import Visitor
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]


def current(page: Response) -> list[str]:
    """Return the entries of the menu that are marked as the place of the page."""
    found: list[str] = re.findall(r'aria-current="(?:page|true)">([^<]+)</a></li>\n(?!<li><form)', page.text)
    return found


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/console", "Inbox"),
        ("/console/claim?local_part=ada&domain=harbour.example", "Names"),
        ("/console/portfolio", "Summary"),
        ("/console/portfolio/registrars/reconcile", "Registrars"),
        ("/console/sessions", "Sessions"),
    ],
)
async def test_the_menu_marks_the_place_of_a_page(browser: Visitor, path: str, label: str) -> None:
    page = await browser.get(path)

    assert current(page)[-1] == label


def test_every_list_is_in_the_menu_or_below_an_entry() -> None:
    lists = {each.path for each in PAGES if "{" not in each.path}

    assert not [path for path in lists if not any(group.is_here for group in menu(Space(), path))]


async def test_a_team_has_the_pages_of_its_members_in_the_menu(
    alice: Person, charlie: Person, visit: Visit
) -> None:
    await join_team(alice, charlie)
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio")

    assert "Renewals</a>" in page.text
    assert "Webhooks</a>" not in page.text


async def test_a_person_can_open_the_accounts_of_their_teams(alice: Person, charlie: Person, visit: Visit) -> None:
    await join_team(alice, charlie)
    page = await (await visit(charlie)).open("/console")

    assert f'href="/console/of/{alice.account.id}/plans"' in page.text


async def test_a_stranger_sees_no_other_account(bob: Person, visit: Visit) -> None:
    page = await (await visit(bob)).open("/console")

    assert "/console/of/" not in page.text


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(seconds=10), "in a moment"),
        (timedelta(minutes=45), "in 45 minutes"),
        (timedelta(minutes=89), "in 89 minutes"),
        (timedelta(hours=2), "in 2 hours"),
        (timedelta(days=14) - timedelta(seconds=5), "in 14 days"),
        (timedelta(days=56), "in 56 days"),
        (timedelta(days=99), "in 99 days"),
        (timedelta(days=120), "in 4 months"),
        (timedelta(days=365 * 3), "in 3 years"),
        (-timedelta(seconds=10), "just now"),
        (-timedelta(days=48), "48 days ago"),
    ],
)
def test_a_distance_is_rounded_in_a_unit_that_says_enough(distance: timedelta, text: str) -> None:
    assert views.relative(distance) == text


async def test_a_time_stands_in_the_zone_of_the_person(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await api.patch("/v1/me", json={"timezone": "Pacific/Kiritimati"})  # 14 hours ahead
        at = datetime.combine((clock.now() + timedelta(days=20)).date(), datetime.min.time(), UTC).replace(hour=20)
        domain_id = await add(api, "ferry.com", expires_at=at.isoformat())
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")

    assert f">{views.written_day(at + timedelta(days=1))} · in " in page.text


async def decide(api: Client, domain_id: str, decision: str) -> None:
    """Decide about the renewal of a domain."""
    rows = [{"domain": domain_id, "decision": decision}]
    answer = await api.patch("/v1/portfolio/renewals/bulk", json={"items": rows})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("decision", "auto_renew"), [("drop", True), ("renew", False)])
async def test_auto_renew_against_the_decision_is_shown(
    browser: Visitor, alice: Person, decision: str, auto_renew: bool
) -> None:
    async with alice.browser() as api:
        domain_id = await add(api, "ferry.com", expires_at=in_days(20), auto_renew=auto_renew)
        answer = await api.patch(
            "/v1/portfolio/renewals/bulk", json={"items": [{"domain": domain_id, "decision": decision}]}
        )
        assert answer.status_code == 200, answer.text
    page = await browser.open("/console/portfolio/renewals")

    assert "against the decision</span>" in page.text
    assert "1 domain has auto-renew against the decision" in page.text


async def test_auto_renew_that_does_what_was_decided_is_no_contradiction(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        domain_id = await add(api, "ferry.com", expires_at=in_days(20), auto_renew=False)
        answer = await api.patch(
            "/v1/portfolio/renewals/bulk", json={"items": [{"domain": domain_id, "decision": "drop"}]}
        )
        assert answer.status_code == 200, answer.text
    page = await browser.open("/console/portfolio/renewals")

    assert "against the decision" not in page.text

"""Notices in the console: the list, the preferences, and the link of the calendar."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.cast import Client, Person
from tests.console.form_scenes import notified
from tests.console.money import LIKE_AMOUNT
from tests.console.scenes import Scene
from tests.console.visitor import Visitor, action_of, fields_of
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE, PREFERENCES = "/console/portfolio/notices", "/v1/portfolio/notifications/preferences"


async def preferences(owner: Person) -> dict[str, Any]:
    async with owner.browser() as browser:
        found: dict[str, Any] = (await browser.get(PREFERENCES)).json()
    return found


async def test_notices_are_marked_as_read(browser: Visitor, scene: Scene) -> None:
    await notified(scene)
    page = await browser.open(PAGE)
    after = await browser.submit(page, "notices-read")

    assert "<strong>unread</strong>" in page.text
    assert "<strong>unread</strong>" not in after.text
    assert "No notice is unread." in (await browser.open(f"{PAGE}?unread=true")).text


async def test_a_notice_is_acknowledged(browser: Visitor, scene: Scene) -> None:
    await notified(scene)
    after = await browser.submit(await browser.open(PAGE), "notice-acknowledge")

    assert ">acknowledged</td>" in after.text


async def test_members_of_groups_are_changed_and_the_others_stay(browser: Visitor, alice: Person) -> None:
    before = await preferences(alice)
    typed = {"expiry.thresholds": "45\n10\n-1", "channels.email.enabled": "false", "digest.hour": "7"}
    await browser.submit(await browser.open(PAGE), "preferences-change", **typed)
    after = await preferences(alice)

    assert after["expiry"] == {**before["expiry"], "thresholds": [45, 10, -1]}
    assert after["channels"]["email"] == {**before["channels"]["email"], "enabled": False}
    assert after["digest"] == {**before["digest"], "hour": 7}
    assert {name: after[name] for name in ("quiet_hours", "timezone", "enabled")} == {
        name: before[name] for name in ("quiet_hours", "timezone", "enabled")
    }


@pytest.mark.parametrize(
    ("name", "text"), [("expiry.thresholds", "soon"), ("digest.hour", "25"), ("quiet_hours.start", "noon")]
)
async def test_a_refused_member_of_a_group_is_marked_and_kept(browser: Visitor, name: str, text: str) -> None:
    refused = await browser.submit(await browser.open(PAGE), "preferences-change", **{name: text})

    assert refused.status_code == 422
    assert f'id="preferences-change-{name}-error"' in refused.text
    assert text in refused.text


async def test_a_forged_text_for_a_group_is_ignored(browser: Visitor, alice: Person) -> None:
    forged = {
        "channels": "all",
        "expiry": "[]",
        "channels.email.enabled": "false",
        "channels.email.enabled.x": "1",
    }
    page = await browser.open(PAGE)
    fields = {**fields_of(page, "preferences-change"), **forged, "channels.email.enabled": "false"}
    answer = await browser.post_form(action_of(page, "preferences-change"), fields)

    assert answer.status_code == 200, answer.text
    assert (await preferences(alice))["channels"]["email"]["enabled"] is False


async def test_the_link_of_the_calendar_is_shown_once_and_works_until_it_is_revoked(
    browser: Visitor, anyone: Client
) -> None:
    shown = await browser.submit(await browser.open(PAGE), "calendar-create")
    [link] = re.findall(r"http[^\"<]+renewals\.ics[^\"<]*", shown.text)[:1]
    first = await anyone.get(link.replace("&amp;", "&"))
    await browser.submit(await browser.open(PAGE), "calendar-revoke")

    assert first.status_code == 200
    assert (await anyone.get(link.replace("&amp;", "&"))).is_client_error
    assert link not in (await browser.open(PAGE)).text


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie, "viewer")
    space = f"/console/of/{alice.account.id}/portfolio"
    visitor = await visit(charlie)
    pages = [await visitor.open(f"{space}/{each}") for each in ("notices", "parking")]

    assert [each.status_code for each in pages] == [200, 200]
    assert not LIKE_AMOUNT.findall("".join(each.text for each in pages).replace("500.00 USD", ""))
    assert "/do/parking-record" not in pages[1].text

"""Notification preferences: defaults, merge patches, warnings and refusals."""

import asyncio
from typing import Any

import pytest

from builders.kit.http.bodies import MAX_WARNINGS
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.portfolio.team.make import code, join, of

PATH = "/v1/portfolio/notifications/preferences"
DEFAULT_DAYS = [90, 60, 30, 14, 7, 3, 1, 0, -1]


async def read(client: Client, **headers: str) -> dict[str, Any]:
    answer = await client.get(PATH, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def patch(client: Client, **body: object) -> dict[str, Any]:
    answer = await client.patch(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_defaults_are_complete(alice: Person) -> None:
    found = await read(alice)

    assert (found["enabled"], found["timezone"]) == (True, "UTC")
    assert found["channels"] == {
        "email": {"enabled": True, "address": alice.account.email, "verified": True},
        "webhook": {"enabled": True},
        "in_app": {"enabled": True},
    }
    assert found["expiry"]["thresholds"] == DEFAULT_DAYS
    assert found["events"]["portfolio.renewal.upcoming"]["enabled"] is True
    assert found["events"]["portfolio.team.role_changed"]["enabled"] is False
    assert found["quiet_hours"]["enabled"] is found["digest"]["enabled"] is False
    assert (found["quiet_hours"]["start"], found["quiet_hours"]["end"]) == ("22:00", "07:00")
    assert found["cost_alert"] == {"monthly_renewals_above": None}


async def test_a_patch_merges_and_null_resets(alice: Person) -> None:
    await patch(alice, quiet_hours={"enabled": True, "end": "06:30"}, digest={"enabled": True})
    await patch(alice, quiet_hours={"start": "23:00"}, timezone="europe/berlin", muted_tags=["Parked", "parked"])
    amount = {"amount": "500.00", "currency": "EUR"}
    found = await patch(
        alice,
        expiry={"thresholds": [7, 60, 7]},
        events={"portfolio.team.invited": {"enabled": True, "channels": ["in_app"]}},
        muted_domains=["Bücher.Example"],
        cost_alert={"monthly_renewals_above": amount},
    )

    quiet = found["quiet_hours"]
    assert (quiet["enabled"], quiet["start"], quiet["end"]) == (True, "23:00", "06:30")
    assert found["timezone"] == "Europe/Berlin"
    assert found["expiry"]["thresholds"] == [60, 7]
    assert (found["expiry"]["include_auto_renew_on"], found["expiry"]["repeat_until_ack"]) == (True, False)
    assert found["warnings"] == []
    assert (found["muted_domains"], found["muted_tags"]) == (["xn--bcher-kva.example"], ["parked"])
    assert found["cost_alert"] == {"monthly_renewals_above": amount}
    assert found["events"]["portfolio.team.invited"] == {"enabled": True, "channels": ["in_app"]}
    reset = await patch(
        alice,
        **dict.fromkeys(("timezone", "expiry", "muted_tags", "muted_domains", "cost_alert", "digest")),
        quiet_hours={"start": None, "enabled": None, "end": None},
        events={"portfolio.team.invited": None},
    )
    before = await read(alice.test)
    assert {**before, "channels": reset["channels"], "warnings": []} == reset


async def test_the_warnings_about_unknown_members_are_limited(alice: Person) -> None:
    many = {f"member{at}": True for at in range(200)}
    found = await patch(
        alice, timezone="UTC", events={f"event{at}": {"enabled": True, **many} for at in range(50)}
    )
    assert len(found["warnings"]) == MAX_WARNINGS


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"locale": "de"}, "locale"),
        ({"quiet_hours": {"then": "drop"}}, "quiet_hours.then"),
        ({"channels": {"webhook": {"webhook_ids": []}}}, "channels.webhook.webhook_ids"),
        (
            {"events": {"portfolio.domain.sold": {"min_severity": "warn"}}},
            "events.portfolio.domain.sold.min_severity",
        ),
    ],
)
async def test_an_option_without_effect_is_named(alice: Person, body: dict[str, Any], field: str) -> None:
    found = await patch(alice, enabled=True, **body)

    assert [each["field"] for each in found["warnings"]] == [field]


async def test_unknown_members_are_named_with_what_was_meant(alice: Person) -> None:
    found = await patch(
        alice,
        quiet_hours={"enabled": True, "strt": "21:00"},
        timezon="UTC",
        events={"portfolio.team.invite": {"enabled": True}, "portfolio.team.invited": {"enabld": True}},
    )

    warned = {each["field"]: each["did_you_mean"] for each in found["warnings"]}
    assert warned == {
        "timezon": "timezone",
        "quiet_hours.strt": "start",
        "events.portfolio.team.invite": "portfolio.team.invited",
        "events.portfolio.team.invited.enabld": "enabled",
    }
    assert found["events"]["portfolio.team.invited"]["enabled"] is False


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"timezone": "Mars/Olympus"}, ["timezone"]),
        ({"quiet_hours": {"start": "25:00"}}, ["quiet_hours", "start"]),
        ({"quiet_hours": {"start": "07:00", "end": "07:00"}}, ["quiet_hours", "end"]),
        ({"expiry": {"thresholds": [366]}}, ["expiry", "thresholds"]),
        ({"expiry": {"thresholds": [{"days": 7}]}}, ["expiry", "thresholds"]),
        ({"enabled": "yes"}, ["enabled"]),
        ({"digest": {"frequency": "hourly"}}, ["digest", "frequency"]),
        ({"muted_domains": ["not a domain"]}, ["muted_domains"]),
        ({"cost_alert": {"monthly_renewals_above": 5}}, ["cost_alert", "monthly_renewals_above"]),
    ],
)
async def test_a_bad_value_is_refused(alice: Person, body: dict[str, Any], loc: list[str]) -> None:
    answer = await alice.patch(PATH, json=body)

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][: len(loc) + 1] == ["body", *loc]


async def test_of_two_patches_at_once_none_is_lost(alice: Person) -> None:
    await asyncio.gather(patch(alice, muted_tags=["a"]), patch(alice, timezone="Asia/Tokyo"))

    found = await read(alice)
    assert (found["muted_tags"], found["timezone"]) == (["a"], "Asia/Tokyo")


async def test_each_member_has_preferences_of_their_own(
    people: MakePerson, alice: Person, bob: Person, charlie: Person
) -> None:
    await join(alice, charlie, "viewer")
    found = await read(charlie, **of(alice))
    assert (found["enabled"], found["channels"]["webhook"]["enabled"]) == (False, False)
    assert found["channels"]["email"]["address"] == charlie.account.email

    changed = await charlie.patch(PATH, json={"enabled": True}, headers=of(alice))
    assert changed.json()["enabled"] is True
    refused = await charlie.patch(PATH, json={"channels": {"webhook": {"enabled": True}}}, headers=of(alice))
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "owner_decides")
    await patch(alice, enabled=False)
    assert (await read(charlie, **of(alice)))["enabled"] is True
    assert (await read(charlie))["enabled"] is True  # their own portfolio

    assert code(await bob.get(PATH, headers=of(alice))) == (404, "portfolio_not_found")
    assert code(await bob.patch(PATH, json={"enabled": True}, headers=of(alice))) == (404, "portfolio_not_found")
    builder = await people("builder")
    assert code(await builder.get(PATH)) == (403, "insufficient_scope")


async def test_the_sandbox_sends_no_email_by_default_and_the_profile_gives_the_time_zone(alice: Person) -> None:
    await alice.patch("/v1/me", json={"timezone": "America/New_York"})

    assert (await read(alice.test))["channels"]["email"]["enabled"] is False
    assert (await read(alice))["timezone"] == "America/New_York"


async def test_null_resets_the_thresholds(alice: Person) -> None:
    await patch(alice, expiry={"thresholds": [7], "repeat_until_ack": True})

    found = await patch(alice, expiry={"thresholds": None})

    assert found["expiry"]["thresholds"] == DEFAULT_DAYS
    assert found["expiry"]["repeat_until_ack"] is True

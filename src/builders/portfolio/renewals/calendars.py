"""A calendar of renewals (RFC 5545) under a secret link, for each member of a portfolio. It holds no prices."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from icalendar import Calendar as Ical, Event as IcalEvent

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains import service as domains
from builders.portfolio.renewals import store
from builders.portfolio.renewals.prices import Due
from builders.portfolio.renewals.records import CreatedCalendar, RenewalDecision
from builders.portfolio.renewals.report import list_due
from builders.portfolio.team import service as team
from builders.portfolio.team.records import Access

TOKEN_BYTES = 32
PERIOD = timedelta(days=365)  # ahead
MAX_EVENTS = 2_000  # of a calendar, the earliest expiries
_PURPOSE = "portfolio renewal calendar"
_TITLES = {
    RenewalDecision.RENEW: "Renew {domain}",
    RenewalDecision.DROP: "{domain} expires (drop)",
    RenewalDecision.UNDECIDED: "{domain} expires: renew or drop?",
}
_ANSWERS = {True: "on", False: "off", None: "unknown"}


async def make_calendar(conn: Conn, *, access: Access, keyring: Keyring) -> CreatedCalendar:
    """Make the calendar of a member, or replace its token: the former link stops working."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    calendar = await store.add_calendar(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        token_hash=keyring.hash_token(_PURPOSE, token),
        now=clock.now(),
    )
    return CreatedCalendar(calendar=calendar, token=token)


async def revoke_calendar(conn: Conn, *, access: Access) -> None:
    """Revoke the link of a member. Repeated, it changes nothing."""
    await store.delete_calendar(conn, account_id=access.portfolio_id, member_id=access.member_id)


async def delete_member(conn: Conn, *, account_id: UUID, member_id: UUID) -> None:
    """Delete the link of a former member, so that it remains invalid if they join again."""
    await store.delete_calendar(conn, account_id=account_id, member_id=member_id)


async def list_calendar(conn: Conn, *, keyring: Keyring, token: str) -> Sequence[Due]:
    """Return the content of the calendar of a token: domains that expire within a year or have expired.

    Raise TokenInvalid for an unknown token, and when its member has left the team.
    """
    found = await store.find_by_hash(conn, hashes=keyring.hashes(_PURPOSE, token))
    if found is None or not await _is_member(conn, *found):
        raise TokenInvalid(
            "There is no calendar with this token.",
            next_action="Make a new link: POST /v1/portfolio/renewals/calendar.",
        )
    due = await list_due(conn, account_id=found[0], until=clock.now() + PERIOD, shows_finance=False)
    return due[:MAX_EVENTS]


async def _is_member(conn: Conn, portfolio_id: UUID, member_id: UUID) -> bool:
    owners = await identity.find_real_accounts(conn, account_ids=[portfolio_id])
    if owners.get(portfolio_id) == member_id:
        return True
    return (portfolio_id, member_id) in await team.list_roles(conn, account_ids=[portfolio_id])


def write_calendar(due: Sequence[Due], *, now: datetime) -> bytes:
    """Return the calendar as a file: an event of a whole day for each expiry."""
    calendar = Ical()
    calendar.add("prodid", "-//Builders//Renewals//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    calendar.add("name", "Domain renewals")
    calendar.add("x-wr-calname", "Domain renewals")
    calendar.add("refresh-interval", timedelta(hours=12), parameters={"VALUE": "DURATION"})
    for each in due:
        calendar.add_component(_event(each, now))
    text: bytes = calendar.to_ical()
    return text


def _event(due: Due, now: datetime) -> IcalEvent:
    event = IcalEvent()
    domain, expires_on = due.domain, due.domain.expires_at.date()
    event.add("uid", f"{domain.id}@renewals.builders")
    event.add("dtstamp", now)
    event.add("dtstart", expires_on)
    event.add("dtend", expires_on + timedelta(days=1))
    event.add("summary", _TITLES[due.decision.decision].format(domain=domain.unicode))
    event.add("description", "\n".join(_description(due)))
    event.add("transp", "TRANSPARENT")
    return event


def _description(due: Due) -> Sequence[str]:
    domain = due.domain
    lines = [
        f"Decision: {due.decision.decision}",
        f"Registrar: {domain.registrar or 'unknown'}",
        f"Auto-renew: {_ANSWERS[domain.auto_renew]}",
        f"Expires at: {domain.expires_at:%Y-%m-%d %H:%M} UTC",
    ]
    dates = domains.compute_drop_dates(domain.tld, domain.expires_at)
    if dates.grace_end is not None:
        lines.append(f"Grace period ends by: {dates.grace_end:%Y-%m-%d}")
    if due.decision.note:
        lines.append(f"Note: {due.decision.note}")
    return lines

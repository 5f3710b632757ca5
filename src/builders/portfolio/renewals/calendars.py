"""A calendar of renewals (RFC 5545) under a secret link, for each member of a portfolio. It holds no prices.

It is written here: the library icalendar takes twenty times as long, 0.4 seconds for MAX_EVENTS.
"""

import secrets
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.renewals import store
from builders.portfolio.renewals.prices import Due
from builders.portfolio.renewals.records import CreatedCalendar
from builders.portfolio.renewals.report import list_due
from builders.portfolio.team import members
from builders.portfolio.team.records import Access

TOKEN_BYTES = 32
PERIOD = timedelta(days=365)  # ahead
MAX_EVENTS = 2_000  # of a calendar, the earliest expiries
MAX_OCTETS = 75  # of a line
_PURPOSE = "portfolio renewal calendar"
_TITLES = {
    RenewalDecision.RENEW: "Renew {domain}",
    RenewalDecision.DROP: "{domain} expires (drop)",
    RenewalDecision.UNDECIDED: "{domain} expires: renew or drop?",
}
_ANSWERS = {True: "on", False: "off", None: "unknown"}
_HEAD = (
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Builders//Renewals//EN",
    "METHOD:PUBLISH",
    "NAME:Domain renewals",
    "X-WR-CALNAME:Domain renewals",
    "REFRESH-INTERVAL;VALUE=DURATION:PT12H",
)
_ESCAPED = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n", "\r": None})


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
    return await list_calendar_events(conn, account_id=found[0])


async def list_calendar_events(conn: Conn, *, account_id: UUID) -> Sequence[Due]:
    """Return the domains of a portfolio that expire within a year or have expired, up to MAX_EVENTS."""
    until = clock.now() + PERIOD
    return await list_due(conn, account_id=account_id, until=until, shows_finance=False, limit=MAX_EVENTS)


async def _is_member(conn: Conn, portfolio_id: UUID, member_id: UUID) -> bool:
    owners = await accounts.find_real_accounts(conn, account_ids=[portfolio_id])
    if owners.get(portfolio_id) == member_id:
        return True
    return (portfolio_id, member_id) in await members.list_roles(conn, account_ids=[portfolio_id])


def write_calendar(due: Iterable[Due], *, now: datetime) -> bytes:
    """Return the calendar as a file: an event of a whole day for each expiry."""
    lines = (line for each in due for line in _event(each, now))
    return "".join(f"{_fold(line)}\r\n" for line in (*_HEAD, *lines, "END:VCALENDAR")).encode()


def _event(due: Due, now: datetime) -> Sequence[str]:
    domain, expires_on = due.domain, due.domain.expires_at.date()
    return (
        "BEGIN:VEVENT",
        f"UID:{domain.id}@renewals.builders",
        f"DTSTAMP:{now:%Y%m%dT%H%M%S}Z",
        f"DTSTART;VALUE=DATE:{_day(expires_on)}",
        f"DTEND;VALUE=DATE:{_day(expires_on + timedelta(days=1))}",
        f"SUMMARY:{_TITLES[due.decision.decision].format(domain=domain.unicode).translate(_ESCAPED)}",
        f"DESCRIPTION:{_description(due).translate(_ESCAPED)}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    )


def _day(day: date) -> str:
    return day.isoformat().replace("-", "")


def _fold(line: str) -> str:
    """Return a line in parts of at most 75 octets (RFC 5545, section 3.1)."""
    size = MAX_OCTETS - 1 if line.isascii() else (MAX_OCTETS - 1) // 4  # the parts begin with a space
    return "\r\n ".join(line[at : at + size] for at in range(0, len(line), size))


def _description(due: Due) -> str:
    domain = due.domain
    lines = [
        f"Decision: {due.decision.decision}",
        f"Registrar: {domain.registrar or 'unknown'}",
        f"Auto-renew: {_ANSWERS[domain.auto_renew]}",
        f"Expires at: {domain.expires_at:%Y-%m-%d %H:%M} UTC",
    ]
    dates = lifecycle.compute_drop_dates(domain.tld, domain.expires_at)
    if dates.grace_end is not None:
        lines.append(f"Grace period ends by: {dates.grace_end:%Y-%m-%d}")
    if due.decision.note:
        lines.append(f"Note: {due.decision.note}")
    return "\n".join(lines)

"""A calendar of renewals (RFC 5545) under a secret link, for each member of a portfolio. It holds no prices.

It is written here: the library icalendar takes twenty times as long, 0.4 seconds for MAX_EVENTS.
"""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.renewals import store
from builders.portfolio.renewals.records import Due
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


async def make_calendar(conn: Conn, *, access: Access, keyring: Keyring) -> tuple[str, datetime]:
    """Make the calendar of a member, or replace its token, which ends the former link; return token and time."""
    token, now = secrets.token_urlsafe(TOKEN_BYTES), clock.now()
    await store.add_calendar(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        token_hash=keyring.hash_token(_PURPOSE, token),
        now=now,
    )
    return token, now


async def list_calendar(conn: Conn, *, keyring: Keyring, token: str) -> Sequence[Due]:
    """Return the content of the calendar of a token.

    Raise TokenInvalid for an unknown token, and when its member has left the team.
    """
    membership = await store.find_by_hash(conn, hashes=keyring.hashes(_PURPOSE, token))
    if membership is not None:
        account_id, member_id = membership
        owners = await accounts.find_real_accounts(conn, account_ids=[account_id])
        is_owner = owners.get(account_id) == member_id
        if is_owner or membership in await members.list_roles(conn, account_ids=[account_id]):
            return await list_calendar_events(conn, account_id=account_id)
    raise TokenInvalid(
        "There is no calendar with this token.",
        next_action="Make a new link: POST /v1/portfolio/renewals/calendar.",
    )


async def list_calendar_events(conn: Conn, *, account_id: UUID) -> Sequence[Due]:
    """Return the domains of a portfolio that expire within a year or have expired, up to MAX_EVENTS."""
    until = clock.now() + PERIOD
    return await list_due(conn, account_id=account_id, until=until, shows_finance=False, limit=MAX_EVENTS)


def write_calendar(due: Iterable[Due], *, now: datetime) -> bytes:
    """Return the calendar as a file: an event of a whole day for each expiry."""
    lines = [*_HEAD, *(line for each in due for line in _event(each, now)), "END:VCALENDAR"]
    folded = []
    for line in lines:  # into parts of at most 75 octets (RFC 5545, section 3.1), which begin with a space
        size = MAX_OCTETS - 1 if line.isascii() else (MAX_OCTETS - 1) // 4
        folded.append("\r\n ".join(line[at : at + size] for at in range(0, len(line), size)))
    return "".join(f"{line}\r\n" for line in folded).encode()


def _event(due: Due, now: datetime) -> Sequence[str]:
    domain, expires_on = due.domain, due.domain.expires_at.date()
    first, last = (each.isoformat().replace("-", "") for each in (expires_on, expires_on + timedelta(days=1)))
    description = [
        f"Decision: {due.decision.decision}",
        f"Registrar: {domain.registrar or 'unknown'}",
        f"Auto-renew: {_ANSWERS[domain.auto_renew]}",
        f"Expires at: {domain.expires_at:%Y-%m-%d %H:%M} UTC",
    ]
    dates = lifecycle.compute_drop_dates(domain.tld, domain.expires_at)
    if dates.grace_end is not None:
        description.append(f"Grace period ends by: {dates.grace_end:%Y-%m-%d}")
    if due.decision.note:
        description.append(f"Note: {due.decision.note}")
    return (
        "BEGIN:VEVENT",
        f"UID:{domain.id}@renewals.builders",
        f"DTSTAMP:{now:%Y%m%dT%H%M%S}Z",
        f"DTSTART;VALUE=DATE:{first}",
        f"DTEND;VALUE=DATE:{last}",
        f"SUMMARY:{_TITLES[due.decision.decision].format(domain=domain.unicode).translate(_ESCAPED)}",
        "DESCRIPTION:" + "\n".join(description).translate(_ESCAPED),
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    )

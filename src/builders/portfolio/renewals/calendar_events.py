"""The events of a calendar of renewals as text (RFC 5545).

Written here: the library icalendar takes twenty times as long, 2 seconds for a calendar.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta

from builders.portfolio.domains import lifecycle
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.domains.today import Today
from builders.portfolio.renewals.records import Due

MAX_OCTETS = 75  # of a line
ALARM_DAYS = (30, 7, 1)  # before an expiry, at nine o'clock
DROP_ALARM_DAYS = (1,)
_TITLES = {
    RenewalDecision.RENEW: "Renew {domain}",
    RenewalDecision.DROP: "{domain} expires (drop)",
    RenewalDecision.UNDECIDED: "{domain} expires: renew or drop?",
}
_ANSWERS = {True: "on", False: "off", None: "unknown"}
HEAD = (
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Builders//Renewals//EN",
    "METHOD:PUBLISH",
    "NAME:Domain renewals",
    "X-WR-CALNAME:Domain renewals",
    "REFRESH-INTERVAL;VALUE=DURATION:PT12H",
)
_ESCAPED = str.maketrans({"\\": r"\\", ";": r"\;", ",": r"\,", "\n": r"\n", "\r": None})


def fold(lines: Iterable[str]) -> str:
    """Return lines in parts of at most 75 octets, which begin with a space (RFC 5545, section 3.1)."""
    folded = []
    for line in lines:
        size = MAX_OCTETS - 1 if line.isascii() else (MAX_OCTETS - 1) // 4
        folded.append("\r\n ".join(line[at : at + size] for at in range(0, len(line), size)))
    return "".join(f"{line}\r\n" for line in folded)


def write_events(due: Sequence[Due], today: Today) -> Generator[None, None, str]:
    """Return the events of the expiries, in steps."""
    texts = []
    for each in due:
        texts.append(fold(_event(each, today)))
        yield
    return "".join(texts)


def _event(due: Due, today: Today) -> Sequence[str]:
    domain, expires_on = due.domain, today.day_of(due.domain.expires_at)
    description = [
        f"Decision: {due.decision.decision}",
        f"Registrar: {domain.registrar or 'unknown'}",
        f"Auto-renew: {_ANSWERS[domain.auto_renew]}",
        f"Expires at: {domain.expires_at:%Y-%m-%d %H:%M} UTC",
    ]
    dates = lifecycle.compute_drop_dates(domain.tld, domain.expires_at)
    if dates.renewable_until is not None:
        description.append(f"Can be kept until: {today.day_of(dates.renewable_until)}")
    if due.decision.note:
        description.append(f"Note: {due.decision.note}")
    title = _TITLES[due.decision.decision].format(domain=domain.unicode)
    alarms = _alarms(due, expires_on, title) if expires_on >= today.day else ()
    return write_day(str(domain.id), expires_on, title, "\n".join(description), *alarms, now=today.now)


def _alarms(due: Due, expires_on: date, title: str) -> Iterator[str]:
    """Yield the lines of alarms on the days before an expiry, none while it is snoozed."""
    snooze = due.decision.snooze_until
    for days in DROP_ALARM_DAYS if due.decision.decision is RenewalDecision.DROP else ALARM_DAYS:
        if snooze is not None and expires_on - timedelta(days=days) < snooze:
            continue
        before = f"P{days - 1}DT15H" if days > 1 else "PT15H"  # from midnight back to nine o'clock
        yield from (
            "BEGIN:VALARM",
            "ACTION:DISPLAY",
            f"TRIGGER:-{before}",
            f"DESCRIPTION:{title.translate(_ESCAPED)}",
            "END:VALARM",
        )


def write_day(uid: str, day: date, title: str, description: str, *more: str, now: datetime) -> Sequence[str]:
    """Return the lines of an event of a whole day."""
    first, last = (each.isoformat().replace("-", "") for each in (day, day + timedelta(days=1)))
    return (
        "BEGIN:VEVENT",
        f"UID:{uid}@renewals.builders",
        f"DTSTAMP:{now:%Y%m%dT%H%M%S}Z",
        f"DTSTART;VALUE=DATE:{first}",
        f"DTEND;VALUE=DATE:{last}",
        f"SUMMARY:{title.translate(_ESCAPED)}",
        "DESCRIPTION:" + description.translate(_ESCAPED),
        "TRANSP:TRANSPARENT",
        *more,
        "END:VEVENT",
    )

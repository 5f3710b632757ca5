"""Export of leads as CSV (RFC 4180), with escaped formulas."""

import csv
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, TextIO

from builders.kit.sheets.cells import safe_cell
from builders.leads.records import Lead

DETAILS = (
    *("name", "company", "role", "domain", "local_part", "message", "use_case", "url", "expected_volume"),
    *("referral_code", "locale", "referrer"),
)
UTM = ("source", "medium", "campaign", "term", "content")
COLUMNS = (
    *("id", "email", "status", "source", "interest", "marketing", "text_version"),
    *("asked_at", "asked_from", "proved_at", "proved_from"),
    *("created_at", "confirmed_at", "unsubscribed_at", "last_sent_at", "send_count"),
)
HEADER = (*COLUMNS, *DETAILS, *(f"utm_{name}" for name in UTM), "metadata", "unsubscribe_url")


async def write_csv(leads: AsyncIterator[Lead], file: TextIO, *, link: Callable[[Lead], str]) -> int:
    """Write the leads, each with its unsubscribe `link`; return their number."""
    writer, count = csv.writer(file), 0
    writer.writerow(HEADER)
    async for lead in leads:
        writer.writerow(map(cell, [*_values(lead), link(lead)]))
        count += 1
    return count


def cell(value: Any) -> str:
    """Return a value as text; a formula is escaped with an apostrophe."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        case dict():
            text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        case _:
            text = str(value)
    return safe_cell(text)


def _values(lead: Lead) -> list[Any]:
    details, utm = lead.details, lead.details.get("utm") or {}
    return [
        *(getattr(lead, name) for name in COLUMNS),
        *(details.get(name) for name in DETAILS),
        *(utm.get(name) for name in UTM),
        details.get("metadata"),
    ]

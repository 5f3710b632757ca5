"""Export of leads as CSV: no cell is a formula, and values survive the round trip."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from builders.cli.leads import CSV_DETAILS, CSV_HEADER, csv_cell, write_csv
from builders.kit.sheets.cells import RISKY
from builders.kit.values import clock, ids
from builders.leads.records import Lead, Status

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def make_lead(**changed: Any) -> Lead:
    """Return a lead."""
    now = clock.now()
    values: dict[str, Any] = {
        "id": ids.new(),
        "email": "ada@example.net",
        "status": Status.CONFIRMED,
        "source": "harbour-lander",
        "interest": "mailbox",
        "marketing": True,
        "text_version": "2026-01",
        "asked_at": now,
        "asked_from": "192.0.2.0/24",
        "proved_at": None,
        "proved_from": None,
        "created_at": now,
        "confirmed_at": None,
        "unsubscribed_at": None,
        "last_sent_at": now,
        "send_count": 1,
        "details": {},
    }
    return Lead(**values | changed)


async def written(*found: Lead) -> list[dict[str, str]]:
    """Return the parsed rows of the export."""

    async def each() -> AsyncIterator[Lead]:
        for lead in found:
            yield lead

    file = io.StringIO(newline="")
    assert await write_csv(each(), file, link=lambda lead: f"https://stop.example/{lead.id}") == len(found)
    file.seek(0)
    return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "risky", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "\u200b\u00a0=1"]
)
async def test_a_formula_is_escaped(risky: str) -> None:
    assert csv_cell(risky) == f"'{risky}"
    [row] = await written(make_lead(details={"name": risky, "utm": {"term": risky}, "metadata": {risky: "x"}}))
    assert (row["name"], row["utm_term"]) == (f"'{risky}", f"'{risky}")


@pytest.mark.parametrize("harmless", ["ada@example.net", "Ada -1", "", "'=1", "Ä=", "1"])
def test_a_harmless_value_is_unchanged(harmless: str) -> None:
    assert csv_cell(harmless) == harmless


@given(st.dictionaries(st.sampled_from(CSV_DETAILS), TEXT), st.dictionaries(TEXT, TEXT, max_size=3), TEXT)
@example({"name": "=1"}, {"=1": "=1"}, '=HYPERLINK("https://evil.example")')
async def test_no_cell_is_a_formula_and_no_text_is_lost(
    details: dict[str, str], metadata: dict[str, str], email: str
) -> None:
    [row] = await written(make_lead(email=email, details={**details, "metadata": metadata}))

    assert not any(value.startswith(RISKY) for value in row.values())
    for name, sent in {**details, "email": email}.items():
        assert row[name] in {sent, f"'{sent}"}


async def test_a_row_has_all_values() -> None:
    lead = make_lead(details={"name": "Ada", "utm": {"source": "newsletter"}, "metadata": {"b": "2", "a": "1"}})
    [row] = await written(lead)

    assert list(row) == list(CSV_HEADER)
    filled = {name: value for name, value in row.items() if value}
    at = f"{lead.asked_at:%Y-%m-%dT%H:%M:%SZ}"
    assert filled == {
        "id": str(lead.id),
        "email": "ada@example.net",
        "status": "confirmed",
        "source": "harbour-lander",
        "interest": "mailbox",
        "marketing": "true",
        "text_version": "2026-01",
        "asked_at": at,
        "asked_from": "192.0.2.0/24",
        "created_at": at,
        "last_sent_at": at,
        "send_count": "1",
        "name": "Ada",
        "utm_source": "newsletter",
        "metadata": '{"a": "1", "b": "2"}',
        "unsubscribe_url": f"https://stop.example/{lead.id}",
    }

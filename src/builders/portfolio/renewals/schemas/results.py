"""Replies to decisions about renewals, and the link of a calendar."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.bulk import BulkReply, RowResult, summarize
from builders.portfolio.renewals.records import CreatedCalendar, PushedRow, PushState


class PushedReply(Reply):
    """Result of a row at the registrar."""

    state: Annotated[
        PushState,
        Field(
            description="`unchanged`: the registrar has the setting already; `queued`: a job sends it, again if "
            "it failed; `unsupported`: the registrar's API does not offer it; `not_connected`: no connected "
            "registrar holds the domain; `would_push`: in a dry run; `nothing_to_push`: the row implies no "
            "setting."
        ),
    ]
    auto_renew: Annotated[bool | None, Field(description="The setting of the row.")]
    provider: Annotated[str | None, Field(description="The registrar.")]
    dashboard_url: Annotated[str | None, Field(description="The registrar's website, to change it there.")]
    error: Annotated[str | None, Field(description="Why it is not set there, or not yet, in a sentence.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalRowResult(RowResult):
    """The result of one row."""

    pushed: Annotated[
        PushedReply | None, Field(description="Result at the registrar; null when not requested.")
    ] = None


class RenewalsUpdated(BulkReply):
    """The result of each row."""

    results: Annotated[Sequence[RenewalRowResult], Field(description="One result for each row, in their order.")]


class RenewalCalendarLink(Reply):
    """The link of a renewal calendar; it is shown once."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"url"})

    url: Annotated[
        str | None,
        Field(
            description="Subscribe to it in a calendar program. It is the only credential. Absent if an "
            "Idempotency-Key repeats the response."
        ),
    ] = None
    created_at: Annotated[datetime, Field(description="When the link was made.")]


def updated_reply(results: Sequence[RowResult], pushed: Sequence[PushedRow | None]) -> RenewalsUpdated:
    """Return the result of each row, and its result at the registrar."""
    rows = [
        RenewalRowResult(
            **{member.name: getattr(each, member.name) for member in fields(RowResult)},
            pushed=None if sent is None else PushedReply.from_record(sent),
        )
        for each, sent in zip(results, pushed, strict=True)
    ]
    return RenewalsUpdated(results=rows, summary=summarize(results))


def link_reply(made: CreatedCalendar, *, url: str) -> RenewalCalendarLink:
    """Return the link of a calendar."""
    return RenewalCalendarLink(url=url, created_at=made.calendar.created_at)

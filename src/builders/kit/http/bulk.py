"""Replies of bulk calls: a result for each row, and a summary. One bad row never stops the others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import WriteReply


class Outcome(StrEnum):
    """What a bulk call did with a row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """An error or a warning about a row."""

    code: Annotated[str, Field(description="Stable code of the error or warning.")]
    message: Annotated[str, Field(description="The same in a sentence, for people.")]
    field: Annotated[str | None, Field(description="Member or column that it is about; null for the row.")] = None
    did_you_mean: Annotated[str | None, Field(description="A value that would be accepted, if one is close.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """The result of one row."""

    outcome: Annotated[Outcome, Field(description="What was done with the row.")]
    index: Annotated[int | None, Field(description="Position of the row in the body, from 0; null in a file.")] = (
        None
    )
    line: Annotated[int | None, Field(description="Line of the row in the file, from 1; null in a body.")] = None
    domain: Annotated[str | None, Field(description="Domain of the row as an A-label; as sent when invalid.")] = (
        None
    )
    id: Annotated[UUID | None, Field(description="Identifier of what the row created or found.")] = None
    errors: Annotated[Sequence[RowProblem], Field(description="Why the row was refused.")] = ()
    warnings: Annotated[Sequence[RowProblem], Field(description="What to check in an accepted row.")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSummary:
    """The number of rows by outcome."""

    total: Annotated[int, Field(description="Number of rows.")]
    created: Annotated[int, Field(description="Rows that created something.")]
    updated: Annotated[int, Field(description="Rows that changed something.")]
    unchanged: Annotated[int, Field(description="Rows whose values were there already.")]
    skipped: Annotated[int, Field(description="Rows that were left out on request.")]
    errors: Annotated[int, Field(description="Rows that were refused.")]


class BulkReply(WriteReply):
    """What a bulk call did with each row; a reply that has more members is a subclass."""

    results: Annotated[list[RowResult], Field(description="One result for each row, in their order.")]
    summary: Annotated[BulkSummary, Field(description="The number of rows by outcome.")]


def summarize(results: Sequence[RowResult]) -> BulkSummary:
    """Return the number of results by outcome."""
    counts = Counter(each.outcome for each in results)
    return BulkSummary(
        total=len(results),
        created=counts[Outcome.CREATED],
        updated=counts[Outcome.UPDATED],
        unchanged=counts[Outcome.UNCHANGED],
        skipped=counts[Outcome.SKIPPED],
        errors=counts[Outcome.ERROR],
    )

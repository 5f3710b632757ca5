"""The results of the rows of a bulk request or a file. One bad row never stops the others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.errors import Invalid
from builders.kit.values.money import CURRENCIES, UNKNOWN_CURRENCY


class RowOutcome(StrEnum):
    """The result of a row of a bulk request."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """An error or a warning about a row."""

    code: Annotated[str, Field(description="Stable code of the error or warning.")]
    message: Annotated[str, Field(description="The error or warning as a sentence.")]
    field: Annotated[str | None, Field(description="Member or column with the error; null for the row.")] = None
    did_you_mean: Annotated[str | None, Field(description="A value that would be accepted, if one is close.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """The result of one row."""

    outcome: Annotated[RowOutcome, Field(description="Result of the row.")]
    index: Annotated[int | None, Field(description="Position of the row in the body, from 0; null in a file.")] = (
        None
    )
    line: Annotated[int | None, Field(description="Line of the row in the file, from 1; null in a body.")] = None
    domain: Annotated[str | None, Field(description="Domain of the row as an A-label; as sent when invalid.")] = (
        None
    )
    id: Annotated[UUID | None, Field(description="Identifier of the created or found object.")] = None
    errors: Annotated[Sequence[RowProblem], Field(description="Why the row was refused.")] = ()
    warnings: Annotated[Sequence[RowProblem], Field(description="Warnings about an accepted row.")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSummary:
    """The number of rows by outcome."""

    total: Annotated[int, Field(description="Number of rows.")]
    created: Annotated[int, Field(description="Rows that created an object.")]
    updated: Annotated[int, Field(description="Rows that changed an object.")]
    unchanged: Annotated[int, Field(description="Rows without a change.")]
    skipped: Annotated[int, Field(description="Rows that were omitted on request.")]
    errors: Annotated[int, Field(description="Rows that were refused.")]


def problem_of(error: Mapping[str, Any], loc: Sequence[int | str]) -> RowProblem:
    """Return an error of pydantic's form as that of a row; `loc` is its place in the row."""
    return RowProblem(code=error["type"], message=error["msg"], field=".".join(map(str, loc)) or None)


def refused_row(
    code: str, message: str, *, field: str | None = None, did_you_mean: str | None = None, **place: Any
) -> RowResult:
    """Return the result of a row that is refused for one reason; `place` is its domain, and its index or line."""
    problem = RowProblem(code=code, message=message, field=field, did_you_mean=did_you_mean)
    return RowResult(outcome=RowOutcome.ERROR, errors=[problem], **place)


def row_problems(invalid: Invalid) -> Sequence[RowProblem]:
    """Return the errors of a value that breaks a rule beyond the schema, as errors of its row."""
    return [problem_of(each, each["loc"][1:]) for each in invalid.errors]


def currency_warnings(currencies: Iterable[str], *, field: str | None = None) -> Sequence[RowProblem]:
    """Return a warning for each currency of a row that ISO 4217 does not have.

    Without the closest code, which takes a millisecond to find: there are many rows.
    """
    return [
        RowProblem(code="currency_unknown", message=UNKNOWN_CURRENCY.format(each), field=field)
        for each in dict.fromkeys(currencies)
        if each not in CURRENCIES
    ]


def summarize(results: Sequence[RowResult]) -> BulkSummary:
    """Return the number of results by outcome."""
    counts = Counter(each.outcome for each in results)
    accepted = {each.value: counts[each] for each in RowOutcome if each is not RowOutcome.ERROR}
    return BulkSummary(total=len(results), errors=counts[RowOutcome.ERROR], **accepted)

"""Replies of bulk calls: a result for each row, and a summary. One bad row never stops the others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field, GetCoreSchemaHandler, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

from builders.kit.errors import MAX_ERRORS, Invalid
from builders.kit.http.bodies import Reply, WriteReply
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


class BulkSummary(Reply):
    """The number of rows by outcome."""

    total: Annotated[int, Field(description="Number of rows.")]
    created: Annotated[int, Field(description="Rows that created an object.")]
    updated: Annotated[int, Field(description="Rows that changed an object.")]
    unchanged: Annotated[int, Field(description="Rows without a change.")]
    skipped: Annotated[int, Field(description="Rows that were omitted on request.")]
    errors: Annotated[int, Field(description="Rows that were refused.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A row of a body that is not valid, with the reasons."""

    sent: Any  # any JSON value
    errors: Sequence[RowProblem]


@dataclass(frozen=True, slots=True)
class RowOf:
    """Mark an item of a bulk body: `Annotated[Row | RefusedRow, RowOf(Row)]`.

    An item that is not valid becomes a RefusedRow, and the other items are read. In the OpenAPI document the item
    is the model.
    """

    model: type[BaseModel]

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read an item as the model."""
        return core_schema.no_info_wrap_validator_function(_read_row, handler.generate_schema(self.model))


def _read_row(value: Any, read: ValidatorFunctionWrapHandler) -> Any:  # any JSON value; the model or a RefusedRow
    try:
        return read(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[:MAX_ERRORS]
        return RefusedRow(sent=value, errors=[_problem(each, each["loc"]) for each in found])


def _problem(error: Mapping[str, Any], loc: Sequence[int | str]) -> RowProblem:
    return RowProblem(code=error["type"], message=error["msg"], field=".".join(map(str, loc)) or None)


def refused_row(
    code: str, message: str, *, field: str | None = None, did_you_mean: str | None = None, **place: Any
) -> RowResult:
    """Return the result of a row that is refused for one reason; `place` is its domain, and its index or line."""
    problem = RowProblem(code=code, message=message, field=field, did_you_mean=did_you_mean)
    return RowResult(outcome=RowOutcome.ERROR, errors=[problem], **place)


def row_problems(invalid: Invalid) -> Sequence[RowProblem]:
    """Return the errors of a value that breaks a rule beyond the schema, as errors of its row."""
    return [_problem(each, each["loc"][1:]) for each in invalid.errors]


def currency_warnings(currencies: Iterable[str], *, field: str | None = None) -> Sequence[RowProblem]:
    """Return a warning for each currency of a row that ISO 4217 does not have.

    Without the closest code, which takes a millisecond to find: there are many rows.
    """
    return [
        RowProblem(code="currency_unknown", message=UNKNOWN_CURRENCY.format(each), field=field)
        for each in dict.fromkeys(currencies)
        if each not in CURRENCIES
    ]


class BulkReply(WriteReply):
    """The results of a bulk call; a subclass can add members."""

    results: Annotated[Sequence[RowResult], Field(description="One result for each row, in their order.")]
    summary: Annotated[BulkSummary, Field(description="How many rows had each outcome.")]


def summarize(results: Sequence[RowResult]) -> BulkSummary:
    """Return the number of results by outcome."""
    counts = Counter(each.outcome for each in results)
    accepted = {each.value: counts[each] for each in RowOutcome if each is not RowOutcome.ERROR}
    return BulkSummary(total=len(results), errors=counts[RowOutcome.ERROR], **accepted)

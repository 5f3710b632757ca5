"""Bodies and replies of bulk calls: an item that is not valid is read as refused, and the others are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, GetCoreSchemaHandler, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import WriteReply
from builders.kit.rows import BulkSummary, RowProblem, RowResult, problem_of


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
        return RefusedRow(sent=value, errors=[problem_of(each, each["loc"]) for each in found])


class BulkReply(WriteReply):
    """The results of a bulk call; a subclass can add members."""

    results: Annotated[Sequence[RowResult], Field(description="One result for each row, in their order.")]
    summary: Annotated[BulkSummary, Field(description="How many rows had each outcome.")]

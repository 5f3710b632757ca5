"""The cell of a row that has all entries of a domain, as the export writes them."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field as Member,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from builders.kit.sheets.cells import CellRefused
from builders.kit.values import texts
from builders.kit.values.days import Day
from builders.kit.values.money import Money
from builders.portfolio.domain_files.records import DraftEntry
from builders.portfolio.domains.fields import MAX_TEXT
from builders.portfolio.ledger import references
from builders.portfolio.ledger.records import (
    MAX_MEMO,
    MAX_REFERENCE,
    MAX_YEARS,
    SALE_KINDS,
    EntryKind,
    EntrySource,
)

MAX_ENTRIES = 10_000  # of a row
_WRITABLE = frozenset({EntrySource.MANUAL, EntrySource.IMPORT})  # the others are of the service itself


def _none_if_blank(text: str | None) -> str | None:
    return text or None


_BLANK_IS_NONE = AfterValidator(_none_if_blank)
_Registrar = Annotated[
    Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_TEXT), texts.OneLine] | None,
    _BLANK_IS_NONE,
]
_Memo = Annotated[
    Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_MEMO), texts.OneLine] | None,
    _BLANK_IS_NONE,
]
_Reference = Annotated[
    Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_REFERENCE), texts.OneLine] | None,
    _BLANK_IS_NONE,
]


class _EntryCell(BaseModel):
    """An entry of the ledger, as the export writes it; its members obey the rules of the API."""

    model_config = ConfigDict(frozen=True)

    kind: EntryKind
    amount: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}(\.[0-9]{1,4})?$")]
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    on: Day
    years: Annotated[int | None, Member(ge=1, le=MAX_YEARS)] = None
    registrar: _Registrar = None
    memo: _Memo = None
    source: EntrySource = EntrySource.IMPORT
    reference: _Reference = None


_ENTRIES = TypeAdapter(Annotated[list[_EntryCell], Member(max_length=MAX_ENTRIES)])


def read_entries(cell: str) -> tuple[Sequence[DraftEntry], bool]:
    """Return the entries of a cell, and whether costs of a sale are among them. Raise CellRefused."""
    try:
        found = _ENTRIES.validate_json(cell)
        entries = [_draft_entry(each) for each in found]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise _refused(reason) from None
    except ValueError as error:
        raise _refused(str(error)) from None
    return entries, any(each.source is EntrySource.SALE and each.kind not in SALE_KINDS for each in found)


def _refused(reason: str) -> CellRefused:
    return CellRefused("entries_invalid", f"{reason.rstrip('.')}. Write a JSON list as the export does.")


def _draft_entry(cell: _EntryCell) -> DraftEntry:
    """Return the entry of a cell. Raise ValueError for a reserved reference, and for too many decimals.

    An entry of another source becomes one of the import, without the reference of its source.
    """
    is_own = cell.source in _WRITABLE
    given = references.given_reference(cell.reference) if is_own else None
    return DraftEntry(
        kind=cell.kind,
        money=Money.of(cell.amount, cell.currency),
        occurred_on=cell.on,
        years=cell.years,
        registrar=cell.registrar,
        memo=cell.memo,
        source=cell.source if is_own else EntrySource.IMPORT,
        reference=None if given is None else references.require_given(given),
    )

"""Rows of one domain in an import: their values as one draft, and which purchase and sales are recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from typing import Generic, TypeVar

from builders.kit.rows import RowProblem
from builders.portfolio.domain_files.columns import DomainRow
from builders.portfolio.domain_files.drafts import Draft
from builders.portfolio.imports import merge
from builders.portfolio.ledger.records import EntryFields, EntryKind, SaleTerms

SAME_SALE = timedelta(days=60)  # between the agreement, the transfer and the payment of a sale
T = TypeVar("T")
_TOO_FAR = RowProblem(
    code="duplicate_row",
    message="The rows of the domain are too many to read together. Purchases and sales of the first ones count.",
    field="domain",
)


@dataclass(frozen=True, slots=True)
class _Found(Generic[T]):
    """A purchase or a sale of a row."""

    number: int  # of the row
    position: int
    value: T


@dataclass(frozen=True, slots=True)
class Combined:
    """The rows of a domain as one draft, and the warnings of rows by their numbers."""

    draft: Draft
    warnings: Mapping[int, Sequence[RowProblem]]


def combine(rows: Sequence[tuple[int, Draft]], *, has_lines: bool, is_continued: bool = False) -> Combined:
    """Return numbered rows of a domain as one draft, in which the value of the later row counts.

    A purchase or a sale of a later row replaces that of an earlier one, unless the domain was sold or bought in
    between, or the sales are more than SAME_SALE apart. If an earlier part has the domain (`is_continued`), its
    purchase and sales are recorded already, and stay.
    """
    draft = reduce(merge.combine, (each for _, each in rows))
    listed = list[EntryFields]()
    for _, each in rows:
        listed += () if each.has_purchase else merge.unknown_entries(each.entries, listed)
    if is_continued:
        late = [number for number, each in rows if each.has_purchase or each.sales]
        return Combined(replace(draft, entries=listed, sales=()), {number: [_TOO_FAR] for number in late})
    purchases = [
        _Found(number, each.position, one) for number, each in rows if each.has_purchase for one in each.entries
    ]
    sales = [_Found(number, each.position, one) for number, each in rows for one in each.sales]
    sold = [each.value[0].sold_on for each in sales]
    bought = [each.value.occurred_on for each in purchases]
    bought += [each.occurred_on for each in listed if each.kind is EntryKind.ACQUISITION]
    kept_purchases, old_purchases = _keep_last(purchases, lambda one, other: _is_same_purchase(one, other, sold))
    kept_sales, old_sales = _keep_last(sales, lambda one, other: _is_same_sale(one[0], other[0], bought))
    row = "line" if has_lines else "row"
    warnings: dict[int, list[RowProblem]] = {}
    for old, new in old_purchases:
        texts = [f"{each.value.money} on {each.value.occurred_on}" for each in (old, new)]
        warnings.setdefault(new.number, []).append(_replaced("purchase", row, old.position, new.position, texts))
    for earlier, later in old_sales:
        texts = [f"{each.value[0].gross} on {each.value[0].sold_on}" for each in (earlier, later)]
        warnings.setdefault(later.number, []).append(
            _replaced("sale", row, earlier.position, later.position, texts)
        )
    kept = merge.unknown_entries([each.value for each in kept_purchases], listed)
    draft = replace(draft, entries=[*listed, *kept], sales=[each.value for each in kept_sales])
    return Combined(draft, warnings)


def _keep_last(
    found: Iterable[_Found[T]], is_same: Callable[[T, T], bool]
) -> tuple[Sequence[_Found[T]], Sequence[tuple[_Found[T], _Found[T]]]]:
    """Return what no later row replaces, and each replaced value that differs with the one that replaces it."""
    kept = list[_Found[T]]()
    replaced = list[tuple[_Found[T], _Found[T]]]()
    for each in found:
        at = next(
            (
                at
                for at, other in enumerate(kept)
                if other.number != each.number and is_same(other.value, each.value)
            ),
            None,
        )
        if at is None:
            kept.append(each)
            continue
        if kept[at].value != each.value:
            replaced.append((kept[at], each))
        kept[at] = each
    return kept, replaced


def _is_same_purchase(one: EntryFields, other: EntryFields, sold: Sequence[date]) -> bool:
    first, last = sorted((one.occurred_on, other.occurred_on))
    return not any(first <= day < last for day in sold)


def _is_same_sale(one: SaleTerms, other: SaleTerms, bought: Sequence[date]) -> bool:
    first, last = sorted((one.sold_on, other.sold_on))
    return last - first <= SAME_SALE and not any(first < day <= last for day in bought)


def _replaced(what: str, row: str, earlier: int, later: int, texts: Sequence[str]) -> RowProblem:
    old, new = texts
    return RowProblem(
        code=f"{what}_replaced",
        message=(
            f"{row.capitalize()} {earlier} has a {what} for {old}, and {row} {later} one for {new}. "
            f"That of {row} {later} counts."
        ),
        field=(DomainRow.purchase_amount if what == "purchase" else DomainRow.sale_amount).name,
    )

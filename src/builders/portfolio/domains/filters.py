"""The parameters that select domains: the key in a path, and the filters of lists and exports."""

from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, Path, Query
from pydantic import AfterValidator

from builders.kit.errors import Refuses
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import published
from builders.kit.values.texts import Composed, Lowered
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.fields import MAX_TAG, MAX_TEXT
from builders.portfolio.domains.records import (
    MAX_DAYS,
    Lifecycle,
    Ownership,
    PortfolioDomainStatus,
    RenewalDecision,
)

_LARGEST = 10**18
NUMBER = published(r"^-?[0-9]{1,18}(\.[0-9]{1,6})?$", minimum=-_LARGEST, maximum=_LARGEST)
DomainKey = Annotated[
    str,
    Path(description="Identifier of the portfolio domain, or its name in either form."),
    Refuses(DomainNotFound),
]


def _suffix(tld: str) -> str:
    """Return a public suffix as an A-label, without a dot before it."""
    written = tld.strip().removeprefix(".")
    return (find_a_label(f"a.{written}") or f"a.{written}").removeprefix("a.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFilters:
    """A selection of domains, as the query of a request has it. None: any."""

    status: Annotated[PortfolioDomainStatus | None, Query(description="Only domains with this status.")] = None
    ownership: Annotated[Ownership | None, Query(description="Only domains with this basis.")] = None
    registrar: Annotated[
        str | None,
        Query(max_length=MAX_TEXT, description="Only domains at this registrar, upper or lower case."),
        Lowered,
    ] = None
    tag: Annotated[str | None, Query(max_length=MAX_TAG, description="Only domains with this tag."), Lowered] = (
        None
    )
    folder: Annotated[
        str | None,
        Query(min_length=1, max_length=MAX_TEXT, description="Only domains in this folder."),
        Composed,
    ] = None
    tld: Annotated[
        str | None,
        Query(min_length=1, max_length=253, description="Only domains with this public suffix, such as `co.uk`."),
        AfterValidator(_suffix),
    ] = None
    auto_renew: Annotated[
        bool | None, Query(description="Only domains whose auto-renewal is on, or off. An unknown one is neither.")
    ] = None
    lifecycle: Annotated[Lifecycle | None, Query(description="Only domains in this state.")] = None
    decision: Annotated[
        RenewalDecision | None, Query(description="Only domains with this decision about the next expiry.")
    ] = None
    expiring_within_days: Annotated[
        int | None, Query(ge=0, le=MAX_DAYS, description="Only domains that expire within this number of days.")
    ] = None
    q: Annotated[
        str | None,
        Query(min_length=1, max_length=253, description="Only domains with this text in name, tags or notes."),
        Lowered,
    ] = None


def _bound(description: str) -> Any:  # Query has no public type
    return Query(ge=-_LARGEST, le=_LARGEST, decimal_places=6, description=description)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFilters(DomainFilters):
    """A selection of domains, also by their figures. A domain without a figure has none of its values."""

    min_roi: Annotated[Decimal | None, NUMBER, _bound("Only domains with at least this `roi`.")] = None
    max_roi: Annotated[Decimal | None, NUMBER, _bound("Only domains with at most this `roi`.")] = None
    min_net: Annotated[Decimal | None, NUMBER, _bound("Only domains with at least this `net`.")] = None
    max_net: Annotated[Decimal | None, NUMBER, _bound("Only domains with at most this `net`.")] = None
    min_cost: Annotated[Decimal | None, NUMBER, _bound("Only domains with at least this `cost`.")] = None
    max_cost: Annotated[Decimal | None, NUMBER, _bound("Only domains with at most this `cost`.")] = None
    min_income: Annotated[Decimal | None, NUMBER, _bound("Only domains with at least this `income`.")] = None
    max_income: Annotated[Decimal | None, NUMBER, _bound("Only domains with at most this `income`.")] = None
    min_renewal_price_base: Annotated[
        Decimal | None, NUMBER, _bound("Only domains with at least this `renewal_price_base`.")
    ] = None
    max_renewal_price_base: Annotated[
        Decimal | None, NUMBER, _bound("Only domains with at most this `renewal_price_base`.")
    ] = None

    @property
    def is_of_figures(self) -> bool:
        """Return whether a figure is bounded."""
        return any(getattr(self, name) is not None for name in BOUND_NAMES)


ALL_DOMAINS, EVERY_DOMAIN = DomainFilters(), FigureFilters()
FILTER_NAMES = tuple(each.name for each in fields(FigureFilters))  # in the query, too
BOUND_NAMES = tuple(name for name in FILTER_NAMES if name.startswith(("min_", "max_")))
Filters = Annotated[DomainFilters, Depends(DomainFilters)]
ListFilters = Annotated[FigureFilters, Depends(FigureFilters)]

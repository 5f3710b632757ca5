"""The filters of domains: the query of the list, the export, the renewals and the summary."""

from dataclasses import dataclass, fields
from typing import Annotated

from fastapi import Depends, Query

from builders.kit.values.domain_names import find_a_label
from builders.portfolio.domains.records import (
    MAX_DAYS,
    MAX_TAG,
    MAX_TEXT,
    Lifecycle,
    Ownership,
    PortfolioDomainStatus,
    RenewalDecision,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFilters:
    """A selection of domains. None: any."""

    status: PortfolioDomainStatus | None = None
    ownership: Ownership | None = None
    registrar: str | None = None  # upper or lower case
    tag: str | None = None
    folder: str | None = None
    tld: str | None = None  # an A-label
    auto_renew: bool | None = None
    lifecycle: Lifecycle | None = None
    decision: RenewalDecision | None = None
    expiring_within_days: int | None = None
    q: str | None = None  # part of the name, in either form


ALL_DOMAINS = DomainFilters()
FILTER_NAMES = tuple(each.name for each in fields(DomainFilters))  # in the query, too
_Registrar = Annotated[
    str | None, Query(max_length=MAX_TEXT, description="Only domains at this registrar, upper or lower case.")
]
_Days = Annotated[
    int | None, Query(ge=0, le=MAX_DAYS, description="Only domains that expire within this number of days.")
]


def domain_filters(
    status: Annotated[PortfolioDomainStatus | None, Query(description="Only domains with this status.")] = None,
    ownership: Annotated[Ownership | None, Query(description="Only domains with this basis.")] = None,
    registrar: _Registrar = None,
    tag: Annotated[str | None, Query(max_length=MAX_TAG, description="Only domains with this tag.")] = None,
    folder: Annotated[
        str | None, Query(min_length=1, max_length=MAX_TEXT, description="Only domains in this folder.")
    ] = None,
    tld: Annotated[
        str | None,
        Query(min_length=1, max_length=253, description="Only domains with this public suffix, such as `co.uk`."),
    ] = None,
    auto_renew: Annotated[
        bool | None, Query(description="Only domains whose auto-renewal is on, or off. An unknown one is neither.")
    ] = None,
    lifecycle: Annotated[Lifecycle | None, Query(description="Only domains in this state.")] = None,
    decision: Annotated[
        RenewalDecision | None, Query(description="Only domains with this decision about the next expiry.")
    ] = None,
    expiring_within_days: _Days = None,
    q: Annotated[
        str | None, Query(min_length=1, max_length=253, description="Only names that contain this text.")
    ] = None,
) -> DomainFilters:
    """Return the filters of the query."""
    return DomainFilters(
        status=status,
        ownership=ownership,
        registrar=registrar,
        tag=None if tag is None else tag.strip().lower(),
        folder=None if folder is None else folder.strip(),
        tld=None if tld is None else _suffix(tld),
        auto_renew=auto_renew,
        lifecycle=lifecycle,
        decision=decision,
        expiring_within_days=expiring_within_days,
        q=None if q is None else q.strip().lower(),
    )


Filters = Annotated[DomainFilters, Depends(domain_filters)]


def _suffix(tld: str) -> str:
    """Return a public suffix as an A-label, without a dot before it."""
    written = tld.strip().removeprefix(".")
    return (find_a_label(f"a.{written}") or f"a.{written}").removeprefix("a.")

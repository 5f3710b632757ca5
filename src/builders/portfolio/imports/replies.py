"""Replies of imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from builders.kit.http.bodies import Reply
from builders.kit.http.members import written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.pages import Page
from builders.kit.rows import RowResult
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.resources import HIDDEN, extended, resource
from builders.portfolio.domain_files.amounts import (
    PortfolioExportDecision,
    PortfolioExportEntry,
    PortfolioExportRevenue,
    PortfolioExportSale,
)
from builders.portfolio.domains.records import DomainFields
from builders.portfolio.imports.preview import Preview
from builders.portfolio.imports.records import Import

PortfolioImportPreview = written_of(Preview, "PortfolioImportPreview")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResults(Import):
    """An import with the results of its rows."""

    results: Annotated[
        Sequence[RowResult],
        doc(
            "Results in the order of the source, in a large one the rows of a domain together. Read those of "
            "a job with GET."
        ),
    ]
    next_cursor: NextCursor


PortfolioImportReply = written_of(ImportResults, "PortfolioImportReply")


def import_reply(domain_import: Import, results: Page[RowResult]) -> ImportResults:
    """Return an import with results of its rows."""
    return extended(ImportResults, domain_import, results=results.items, next_cursor=results.next_cursor)


@resource("PortfolioExportRow")
@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioExportRow(DomainFields):
    """A domain with all members of an import."""

    connection_id: Annotated[UUID | None, HIDDEN] = None
    domain: DomainName
    unicode: Annotated[str, doc("The name in Unicode; for most names the same.")]
    entries: Annotated[
        list[PortfolioExportEntry] | None,
        doc("Its other ledger entries; null, as the next two, when your role does not see money."),
    ]
    sales: Annotated[list[PortfolioExportSale] | None, doc("Its sales, by day.")]
    parking: Annotated[list[PortfolioExportRevenue] | None, doc("Its parking revenue, by day.")]
    renewal_decisions: Annotated[
        list[PortfolioExportDecision], doc("The last decision about its renewal; empty without one.")
    ]


class PortfolioExport(Reply):
    """All domains of a portfolio: the body of an import."""

    rows: Annotated[list[PortfolioExportRow], doc("The domains, by name.")]
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money. Absent otherwise.")
    ] = []  # noqa: RUF012 - pydantic copies it

"""Request bodies of the inventory."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from builders.kit.errors import Invalid
from builders.kit.sheets.bodies import DomainNames, TableBody
from builders.kit.sheets.reading import TableOptions
from builders.portfolio.domain_files.columns import DOMAINS
from builders.portfolio.registrars.inventory_records import ImportMode, NewInventoryImport

PROVIDER = "The registrar. One without an API is `manual:NAME`, and needs no connection."
CONNECTION = "Name of the connection, if the registrar has several."
MODE = (
    "`merge`: domains outside the list do not change. `replace_snapshot`: the list is complete, so domains "
    "outside it are missing, unless a row is refused or no row has a domain."
)
ADD = "Whether to add domains that the portfolio does not have."


class InventoryImportCreate(TableBody):
    """The list of domains of a registrar: exactly one of `csv`, `rows` and `domains`."""

    kind = DOMAINS

    domains: DomainNames = None
    provider: Annotated[
        str | None,
        StringConstraints(max_length=80),
        Field(description=f"{PROVIDER} Required here, or in the query."),
    ] = None
    connection: Annotated[str | None, StringConstraints(max_length=80), Field(description=CONNECTION)] = None
    mode: Annotated[ImportMode, Field(description=MODE)] = ImportMode.MERGE
    add_to_portfolio: Annotated[bool, Field(description=ADD)] = False

    def new_import(self, query: Mapping[str, Any]) -> NewInventoryImport:
        """Return the import; an option of the query counts before that of the body. Raise Invalid."""
        body = self.with_query(query)
        if body.provider is None:
            raise Invalid(("body", "provider"), "Field required", "missing")
        return NewInventoryImport(
            provider=body.provider,
            connection=body.connection,
            table=body.sent_table(TableOptions),
            mode=body.mode,
            adds_to_portfolio=body.add_to_portfolio,
            dry_run=body.dry_run,
        )

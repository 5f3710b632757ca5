"""Request bodies of imports."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.http.bodies import Body
from builders.kit.sheets.bodies import DomainNames, TableBody
from builders.kit.sheets.sources import SentTable
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.portfolio.domain_files.columns import DOMAINS
from builders.portfolio.domain_files.drafts import Defaults, ImportConflict, Options
from builders.portfolio.domains.fields import MAX_TAG, MAX_TAGS, MAX_TEXT
from builders.portfolio.domains.records import Ownership

CurrencyCode = Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)]
RegistrarName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT), texts.Plain
]
TagText = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, to_lower=True, min_length=1, max_length=MAX_TAG, pattern=r"^[^,;|]+$"
    ),
    texts.Plain,
]
ON_CONFLICT = (
    "Effect of a row on an existing domain. `merge`: a value replaces the present one, a blank cell "
    "keeps it, tags are added. `overwrite`: a blank cell clears the value. `skip`: the domain stays as it is."
)


class PortfolioImportDefaults(Body):
    """Values for rows that do not have them."""

    refuses_similar = True

    registrar: Annotated[RegistrarName | None, doc("Registrar of domains without one in the source.")] = None
    ownership: Annotated[Ownership | None, doc("Ownership of added domains.")] = None
    tags: Annotated[
        list[TagText], Field(max_length=MAX_TAGS, description="Tags that are added to each domain.")
    ] = []  # noqa: RUF012 - pydantic copies it
    currency: Annotated[
        CurrencyCode | None, doc("ISO 4217 code of amounts without a currency; USD by default.")
    ] = None

    def record(self) -> Defaults:
        """Return the values."""
        return Defaults(registrar=self.registrar, ownership=self.ownership, tags=self.tags)


class PortfolioImportCreate(TableBody):
    """What to import: exactly one of `csv`, `rows`, `domains` and `text`."""

    kind = DOMAINS

    domains: DomainNames = None
    text: Annotated[
        str | None, doc("A text with names of domains, separated by white space, commas or semicolons.")
    ] = None
    defaults: Annotated[PortfolioImportDefaults | None, doc("Values for rows that do not have them.")] = None
    on_conflict: Annotated[ImportConflict, doc(ON_CONFLICT)] = ImportConflict.MERGE

    def new_import(self, query: Mapping[str, Any]) -> SentTable[Options]:
        """Return the import; an option of the query counts before that of the body. Raise Invalid."""
        of_rows = {name: each for name, each in query.items() if name in PortfolioImportDefaults.model_fields}
        body = self.with_query({name: each for name, each in query.items() if name not in of_rows})
        defaults = (self.defaults or PortfolioImportDefaults()).model_copy(update=of_rows)
        return body.sent_table(
            Options,
            currency=defaults.currency,
            defaults=defaults.record(),
            on_conflict=body.on_conflict,
            dry_run=body.dry_run,
        )

"""Request bodies of saved formats, and their replies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from builders.kit.http.bodies import Body, Reply
from builders.kit.sheets.bodies import DATE_ORDER, DECIMAL_MARK, MAPPING
from builders.kit.sheets.tables import DateNotation, DecimalNotation
from builders.kit.values import texts
from builders.portfolio.saved_formats.records import MAX_COLUMNS, MAX_HEADER, SheetKind

Header = Annotated[str, StringConstraints(min_length=1, max_length=MAX_HEADER), texts.Plain]
_KIND = "What the sheet contains: domains, parking revenue, or charges of registrars."


class PortfolioFormatUpdate(Body):
    """How your own sheet is written."""

    kind: Annotated[SheetKind, Field(description=_KIND)] = SheetKind.DOMAINS
    mapping: Annotated[dict[str, Header], Field(description=MAPPING, max_length=MAX_COLUMNS)] = {}  # noqa: RUF012 - pydantic copies it
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)] = DateNotation.AUTO
    decimal_mark: Annotated[DecimalNotation, Field(description=DECIMAL_MARK)] = DecimalNotation.AUTO


class PortfolioFormat(Reply):
    """The format of your own sheet; an import names it in `format`."""

    name: Annotated[str, Field(description="Name of the format, which imports give in `format`.")]
    kind: Annotated[SheetKind, Field(description=_KIND)]
    mapping: Annotated[Mapping[str, str], Field(description=MAPPING)]
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)]
    decimal_mark: Annotated[DecimalNotation, Field(description=DECIMAL_MARK)]
    updated_at: Annotated[datetime, Field(description="When it was saved.")]

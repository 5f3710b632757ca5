"""Request bodies of saved formats, and their replies."""

from typing import Annotated

from pydantic import Field, StringConstraints

from builders.kit.http.bodies import Body, Reply
from builders.kit.http.members import reply_members, with_members
from builders.kit.sheets.bodies import DATE_ORDER, DECIMAL_MARK, ENCODING, MAPPING, EncodingName
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.kit.values import texts
from builders.portfolio.saved_formats.records import KIND, MAX_COLUMNS, MAX_HEADER, SavedFormat, SheetKind

Header = Annotated[str, StringConstraints(min_length=1, max_length=MAX_HEADER), texts.Plain]


class PortfolioFormatUpdate(Body):
    """How your own sheet is written."""

    kind: Annotated[SheetKind, Field(description=KIND)] = SheetKind.DOMAINS
    mapping: Annotated[dict[str, Header], Field(description=MAPPING, max_length=MAX_COLUMNS)] = {}  # noqa: RUF012 - pydantic copies it
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)] = DateNotation.AUTO
    decimal_mark: Annotated[DecimalNotation, Field(description=DECIMAL_MARK)] = DecimalNotation.AUTO
    encoding: Annotated[EncodingName | None, Field(description=ENCODING)] = None


@with_members(reply_members(SavedFormat))
class PortfolioFormat(Reply):
    """The format of your own sheet; an import names it in `format`."""

"""Records of saved formats."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from builders.kit.limits import maximums
from builders.kit.sheets.bodies import DATE_ORDER, DECIMAL_MARK, ENCODING, MAPPING, EncodingName
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.resources import resource

MAX_FORMATS = maximums.declare(
    "saved_formats", 50, of="portfolio", counts="Formats of own sheets.", code="saved_format_limit"
)
MAX_COLUMNS = 100  # of a mapping
MAX_HEADER = 200  # characters
Header = Annotated[str, StringConstraints(min_length=1, max_length=MAX_HEADER), texts.Plain]


class SheetKind(StrEnum):
    """What a sheet contains."""

    DOMAINS = "domains"
    PARKING = "parking"
    CHARGES = "charges"


@resource("PortfolioFormat")
@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFormat:
    """The format of your own sheet; an import names it in `format`."""

    name: Annotated[str, doc("Name of the format, which imports give in `format`.")]
    kind: Annotated[SheetKind, doc("What the sheet contains: domains, parking revenue, or charges of registrars.")]
    mapping: Annotated[Mapping[str, Header], Field(max_length=MAX_COLUMNS), doc(MAPPING)]
    date_order: Annotated[DateNotation, doc(DATE_ORDER)]
    decimal_mark: Annotated[DecimalNotation, doc(DECIMAL_MARK)]
    encoding: Annotated[EncodingName | None, doc(ENCODING)]
    updated_at: Annotated[datetime, doc("When it was saved.")]

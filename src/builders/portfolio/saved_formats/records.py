"""Records of saved formats."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from builders.kit.limits import maximums
from builders.kit.sheets.bodies import DATE_ORDER, DECIMAL_MARK, ENCODING, MAPPING
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.kit.values.docs import doc

MAX_FORMATS = maximums.declare(
    "saved_formats", 50, of="portfolio", counts="Formats of own sheets.", code="saved_format_limit"
)
MAX_COLUMNS = 100  # of a mapping
MAX_HEADER = 200  # characters
KIND = "What the sheet contains: domains, parking revenue, or charges of registrars."


class SheetKind(StrEnum):
    """What a sheet contains."""

    DOMAINS = "domains"
    PARKING = "parking"
    CHARGES = "charges"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFormat:
    """How a user's own sheet is written."""

    name: Annotated[str, doc("Name of the format, which imports give in `format`.")]
    kind: Annotated[SheetKind, doc(KIND)]
    mapping: Annotated[Mapping[str, str], doc(MAPPING)]
    date_order: Annotated[DateNotation, doc(DATE_ORDER)]
    decimal_mark: Annotated[DecimalNotation, doc(DECIMAL_MARK)]
    encoding: Annotated[str | None, doc(ENCODING)]
    updated_at: Annotated[datetime, doc("When it was saved.")]

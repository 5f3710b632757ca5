"""Records of saved formats."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from builders.kit.limits import maximums
from builders.kit.sheets.tables import DateNotation, DecimalNotation

MAX_FORMATS = maximums.declare(
    "saved_formats", 50, of="portfolio", counts="Formats of own sheets.", code="saved_format_limit"
)
MAX_COLUMNS = 100  # of a mapping
MAX_HEADER = 200  # characters


class SheetKind(StrEnum):
    """What a sheet contains."""

    DOMAINS = "domains"
    PARKING = "parking"
    CHARGES = "charges"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFormat:
    """How a user's own sheet is written."""

    name: str
    kind: SheetKind
    mapping: Mapping[str, str]  # the header of each column
    date_order: DateNotation
    decimal_mark: DecimalNotation
    updated_at: datetime

"""The request body of saved formats."""

from builders.kit.http.bodies import Body
from builders.kit.http.members import create_of
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.portfolio.saved_formats.records import SavedFormat, SheetKind


@create_of(
    SavedFormat,
    kind=SheetKind.DOMAINS,
    mapping={},
    date_order=DateNotation.AUTO,
    decimal_mark=DecimalNotation.AUTO,
    encoding=None,
)
class PortfolioFormatUpdate(Body):
    """How your own sheet is written."""

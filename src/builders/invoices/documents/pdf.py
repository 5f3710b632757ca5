"""The PDF of an invoice in A4, with the head of the table on each page.

Without a font, its text is limited to Windows-1252, which every PDF reader has: accents that it lacks are dropped,
Greek and Cyrillic are transliterated, and other characters become question marks. The HTML page shows all text.

The packages that write it take a tenth of a second to load: functions import this module when they write a PDF.
"""

import logging
import struct
import unicodedata
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from fontTools.ttLib import TTLibError  # type: ignore[import-untyped] # it has no types
from fpdf import FPDF
from fpdf.enums import MethodReturnValue, XPos, YPos

from builders.invoices.documents.document import Document, Row, describe
from builders.invoices.records import Invoice
from builders.kit.http import slices
from builders.kit.process import log
from builders.kit.values import clock

MARGIN = 18.0  # mm
LINE = 4.6  # mm
BOTTOM = 24.0  # mm, free for the footer
WIDTHS = (86.0, 16.0, 34.0, 38.0)  # mm of the columns
PAGES = "  {nb}"  # placeholder for the page count; other text never has two spaces in a row
HEADS = ("Description", "Quantity", "Unit price", "Amount")
TEXT_COLOR, MUTED_COLOR, RULE_COLOR = (17, 24, 39), (91, 100, 114), (209, 213, 219)
_FONT_SIGNATURES = {b"\0\1\0\0", b"OTTO", b"true", b"ttcf"}
# What fontTools raises for a damaged font, seen with cut and changed files.
_DAMAGED = (
    TTLibError,
    LookupError,
    ValueError,
    AssertionError,
    ArithmeticError,
    NotImplementedError,  # fontTools: operators and versions of tables that it does not read
    struct.error,
)
_log = log.get_logger()

ENCODING = "cp1252"
_UNKNOWN = "?"
# Pairs: a lower-case letter, and its transliteration.
_TABLE = """
α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o
а a б b в v г g д d е e ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch
ы y э e ю yu я ya і i ї yi є ye ґ g ў u ђ dj ј j љ lj њ nj ћ c џ dz ѓ g ќ k ѕ dz
ł l đ d ħ h ŧ t ŋ ng ı i ə e ɓ b ɗ d \u2010 - \u2011 - \u2012 - \u2212 - \u2192 -> \u2044 /
"""  # noqa: RUF001 - confusable characters are the purpose of the table
_WORDS = _TABLE.split()
_TRANSLITERATED = {**dict(zip(_WORDS[::2], _WORDS[1::2], strict=True)), "ъ": "", "ь": "", "ß": "ss"}

# These packages log each character that a font lacks.
logging.getLogger("fpdf").setLevel(logging.ERROR)
logging.getLogger("fontTools").setLevel(logging.ERROR)


def load_font(pdf: FPDF, font: Path) -> None:
    """Add a font to a PDF. Raise OSError, and ValueError if the file is no font that can be used."""
    with font.open("rb") as file:  # fpdf2 does not close a file that is not a font
        is_font = file.read(4) in _FONT_SIGNATURES
    try:
        for style in ("", "B") if is_font else ():
            pdf.add_font("custom", style, font)
    except _DAMAGED:
        is_font = False
    if not is_font:
        raise ValueError(f"{font} is no TrueType or OpenType font that can be used.")


def require_font(font: Path) -> None:
    """Raise as load_font does."""
    load_font(FPDF(), font)


class _Writer(FPDF):
    """The PDF of one invoice: fonts, colors and the footer of each page."""

    def __init__(self, source: Document, font: Path | None) -> None:
        super().__init__(format="A4")
        self.source = source
        self.clean: Callable[[str], str] = transliterate
        self.face = "helvetica"
        self.core_fonts_encoding = ENCODING
        if font is not None and self._load_font(font):
            self.face, self.clean = "custom", _visible_line
        self.set_margins(MARGIN, MARGIN)
        self.set_auto_page_break(auto=True, margin=BOTTOM)
        self.set_title(self.clean(f"Invoice {source.number}"))
        self.set_creator("Builders")
        self.set_creation_date(clock.now())
        self.alias_nb_pages(PAGES)

    def _load_font(self, font: Path) -> bool:
        """Load the font; log and return False if it is not usable."""
        try:
            load_font(self, font)
        except (OSError, ValueError):
            _log.error("invoice_font_unusable", font=font.name)
            return False
        return True

    def set_style(self, size: float, *, bold: bool = False, color: tuple[int, int, int] = TEXT_COLOR) -> None:
        """Set the size, weight and color of the following text."""
        self.set_font(self.face, "B" if bold else "", size)
        self.set_text_color(*color)

    def write_line(self, text: str, *, width: float = 0, align: str = "L", last: bool = True) -> None:
        """Write one line of text; with `last`, continue on the next line."""
        after = (XPos.LMARGIN, YPos.NEXT) if last else (XPos.RIGHT, YPos.TOP)
        self.cell(width, LINE, self.clean(text), align=align, new_x=after[0], new_y=after[1])

    def draw_rule(self) -> None:
        """Draw a thin line across the page."""
        self.set_draw_color(*RULE_COLOR)
        self.line(self.l_margin, self.y, self.w - self.r_margin, self.y)

    def footer(self) -> None:
        """Write the invoice number and the page number; fpdf2 calls this for each page."""
        self.set_y(-16)
        self.set_style(8, color=MUTED_COLOR)
        page = f"{self.page_no()} / {PAGES}"
        self.cell(0, LINE, f"{self.clean(self.source.number)}   {page}", align="C")


async def render_pdf(invoice: Invoice, *, font: Path | None) -> bytes:
    """Return the invoice as a PDF, which is written in slices, because 2,000 lines take a second."""
    return await slices.run(write_pdf(describe(invoice), font=font))


def write_pdf(source: Document, *, font: Path | None = None) -> Generator[None, None, bytes]:
    """Return the PDF of an invoice with any text, in steps (kit/http/slices.py)."""
    pdf = _Writer(source, font)
    pdf.add_page()
    _write_head(pdf)
    _write_table_head(pdf)
    for row in source.rows:
        _write_row(pdf, row)
        yield
    pdf.ln(3)
    needed = LINE * (len(pdf.source.totals) + 5)
    if pdf.y + needed > pdf.h - BOTTOM:
        pdf.add_page()
    left = sum(WIDTHS) - 80
    for name, value in (*pdf.source.totals, ("Amount due", pdf.source.due)):
        pdf.set_x(MARGIN + left)
        pdf.set_style(10, bold=name in {"Total", "Amount due"})
        pdf.write_line(name, width=38, last=False)
        pdf.write_line(value, width=42, align="R")
    pdf.ln(5)
    pdf.set_style(10)
    pdf.multi_cell(0, LINE + 0.6, pdf.clean(pdf.source.note), align="L")
    return bytes(pdf.output())


def _write_head(pdf: _Writer) -> None:
    source = pdf.source
    pdf.set_style(20, bold=True)
    pdf.cell(0, 10, pdf.clean(f"Invoice {source.number}"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.set_style(10, color=MUTED_COLOR)
    test = " (sandbox: not a real invoice)" if source.is_test else ""
    pdf.write_line(f"{source.status}{test}")
    pdf.ln(4)
    top, middle = pdf.y, pdf.l_margin + (pdf.w - 2 * MARGIN) / 2
    _write_party(pdf, "From", source.seller)
    below = pdf.y
    pdf.set_left_margin(middle)
    pdf.set_y(top)
    _write_party(pdf, "To", source.buyer)
    pdf.set_left_margin(MARGIN)
    pdf.set_xy(MARGIN, max(below, pdf.y) + 3)
    for name, value in source.facts:
        pdf.set_style(9, color=MUTED_COLOR)
        pdf.write_line(name, width=24, last=False)
        pdf.set_style(9)
        pdf.multi_cell(0, LINE, pdf.clean(value), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.ln(5)


def _write_party(pdf: _Writer, name: str, lines: Sequence[str]) -> None:
    pdf.set_style(8, color=MUTED_COLOR)
    pdf.write_line(name)
    width = (pdf.w - 2 * MARGIN) / 2 - 4
    for at, text in enumerate(lines):
        pdf.set_style(10, bold=at == 0)
        pdf.multi_cell(width, LINE, pdf.clean(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _write_table_head(pdf: _Writer) -> None:
    pdf.set_style(8, bold=True, color=MUTED_COLOR)
    for at, (head, width) in enumerate(zip(HEADS, WIDTHS, strict=True)):
        pdf.write_line(head, width=width, align="R" if at else "L", last=at == len(HEADS) - 1)
    pdf.draw_rule()
    pdf.ln(1)


def _write_row(pdf: _Writer, row: Row) -> None:
    pdf.set_style(9)
    text, width = pdf.clean(row.description), WIDTHS[0] - 4
    wrapped = [text]
    if pdf.get_string_width(text) > width:  # measured first, because most texts have one line
        lines = pdf.multi_cell(width + 2, LINE, text, dry_run=True, output=MethodReturnValue.LINES, align="L")
        wrapped = list(map(str, lines)) if isinstance(lines, list) else [text]
    if pdf.y + LINE * (len(wrapped) + 1) + 1 > pdf.h - BOTTOM:
        pdf.add_page()
        _write_table_head(pdf)
        pdf.set_style(9)
    for at, text in enumerate(wrapped):
        pdf.cell(WIDTHS[0], LINE, text, new_x=XPos.RIGHT, new_y=YPos.TOP)
        if at == 0:
            for value, width in zip((row.quantity, row.unit, row.amount), WIDTHS[1:], strict=True):
                pdf.write_line(value, width=width, align="R", last=False)
        pdf.ln(LINE)
    pdf.set_style(8, color=MUTED_COLOR)
    pdf.write_line(row.period)
    pdf.draw_rule()
    pdf.ln(1)


def transliterate(text: str) -> str:
    """Return the text on one line, in characters of Windows-1252 only."""
    return "".join(map(_transliterate, _visible_line(text)))


# Of one line, by Unicode category: white space and control characters, formats, lone surrogates.
_REPLACED = {**dict.fromkeys(("Cc", "Zl", "Zp", "Zs"), " "), "Cf": "", "Cs": _UNKNOWN}


def _visible_line(text: str) -> str:
    """Return the text on one line, without control characters; lone surrogates become question marks."""
    visible = (_REPLACED.get(unicodedata.category(char), char) for char in unicodedata.normalize("NFC", text))
    return " ".join("".join(visible).split())


def _transliterate(char: str) -> str:
    if char.encode(ENCODING, "ignore"):
        return char
    lower = char.lower()
    if lower in _TRANSLITERATED:
        found = _TRANSLITERATED[lower]
        return found if char == lower else found.capitalize()
    decomposed = unicodedata.normalize("NFKD", char)
    bare = "".join(each for each in decomposed if not unicodedata.combining(each))
    if not bare:
        return ""  # a combining accent alone
    if bare == char:
        return _UNKNOWN
    return "".join(map(_transliterate, bare))

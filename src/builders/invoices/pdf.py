"""An invoice as a PDF: A4, as many pages as its lines need, the head of the table on each."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from fontTools.ttLib import TTLibError  # type: ignore[import-untyped] # it has no types
from fpdf import FPDF
from fpdf.enums import MethodReturnValue, XPos, YPos

from builders.invoices import latin
from builders.invoices.sheet import Row, Sheet
from builders.kit.process import log
from builders.kit.values import clock

MARGIN = 18.0  # mm
LINE = 4.6  # mm
BOTTOM = 24.0  # mm that are kept free for the foot
WIDTHS = (86.0, 16.0, 34.0, 38.0)  # mm; of what is left of A4
PAGES = "  {nb}"  # stands for their count: no text that is written has two spaces in a row, or it would too
HEADS = ("Description", "Quantity", "Unit price", "Amount")
INK, SOFT, RULE = (17, 24, 39), (91, 100, 114), (209, 213, 219)
_FONTS = {b"\0\1\0\0", b"OTTO", b"true", b"ttcf"}  # how such files begin
_log = log.get_logger()

# What a font lacks it says for each letter of each line; the reader sees it.
logging.getLogger("fpdf").setLevel(logging.ERROR)
logging.getLogger("fontTools").setLevel(logging.ERROR)


class _Paper(FPDF):
    """The paper: fonts, and what stands on each page."""

    def __init__(self, sheet: Sheet, font: Path | None) -> None:
        super().__init__(format="A4")
        self.sheet = sheet
        self.said: Callable[[str], str] = latin.spell
        self.face = "helvetica"
        self.core_fonts_encoding = latin.ENCODING
        if font is not None and self._has(font):
            self.face, self.said = "given", latin.visible
        self.set_margins(MARGIN, MARGIN)
        self.set_auto_page_break(auto=True, margin=BOTTOM)
        self.set_title(self.said(f"Invoice {sheet.number}"))
        self.set_creator("Builders")
        self.set_creation_date(clock.now())
        self.alias_nb_pages(PAGES)

    def _has(self, font: Path) -> bool:
        """Whether the font can be had: an invoice is written without it rather than not at all."""
        try:
            with font.open("rb") as file:  # asked first: the package leaves open what is none
                is_one = file.read(4) in _FONTS
            for style in ("", "B") if is_one else ():
                self.add_font("given", style, font)
        except (OSError, TTLibError):
            is_one = False
        if not is_one:
            _log.error("invoice_font_unusable", font=font.name)
        return is_one

    def ink(self, size: float, *, bold: bool = False, color: tuple[int, int, int] = INK) -> None:
        """How what follows is written."""
        self.set_font(self.face, "B" if bold else "", size)
        self.set_text_color(*color)

    def line_of(self, text: str, *, width: float = 0, align: str = "L", last: bool = True) -> None:
        """One line of text; `last` begins the next line."""
        after = (XPos.LMARGIN, YPos.NEXT) if last else (XPos.RIGHT, YPos.TOP)
        self.cell(width, LINE, self.said(text), align=align, new_x=after[0], new_y=after[1])

    def rule(self) -> None:
        """A thin line across."""
        self.set_draw_color(*RULE)
        self.line(self.l_margin, self.y, self.w - self.r_margin, self.y)

    def footer(self) -> None:
        """The number on each page, as fpdf2 asks for it."""
        self.set_y(-16)
        self.ink(8, color=SOFT)
        page = f"{self.page_no()} / {PAGES}"
        self.cell(0, LINE, f"{self.said(self.sheet.number)}   {page}", align="C")


def write(sheet: Sheet, *, font: Path | None = None) -> bytes:
    """The file; whatever a name holds, it is written."""
    paper = _Paper(sheet, font)
    paper.add_page()
    _head(paper)
    _table(paper)
    _totals(paper)
    return bytes(paper.output())


def _head(paper: _Paper) -> None:
    sheet = paper.sheet
    paper.ink(20, bold=True)
    paper.cell(0, 10, paper.said(f"Invoice {sheet.number}"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    paper.ink(10, color=SOFT)
    test = " (sandbox: not a real invoice)" if sheet.is_test else ""
    paper.line_of(f"{sheet.standing}{test}")
    paper.ln(4)
    top, middle = paper.y, paper.l_margin + (paper.w - 2 * MARGIN) / 2
    _party(paper, "From", sheet.seller)
    below = paper.y
    paper.set_left_margin(middle)
    paper.set_y(top)
    _party(paper, "To", sheet.buyer)
    paper.set_left_margin(MARGIN)
    paper.set_xy(MARGIN, max(below, paper.y) + 3)
    for name, value in sheet.facts:
        paper.ink(9, color=SOFT)
        paper.line_of(name, width=24, last=False)
        paper.ink(9)
        paper.multi_cell(0, LINE, paper.said(value), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    paper.ln(5)


def _party(paper: _Paper, name: str, lines: Sequence[str]) -> None:
    paper.ink(8, color=SOFT)
    paper.line_of(name)
    width = (paper.w - 2 * MARGIN) / 2 - 4
    for at, text in enumerate(lines):
        paper.ink(10, bold=at == 0)
        paper.multi_cell(width, LINE, paper.said(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _table(paper: _Paper) -> None:
    _table_head(paper)
    for row in paper.sheet.rows:
        _row(paper, row)
    paper.ln(3)


def _table_head(paper: _Paper) -> None:
    paper.ink(8, bold=True, color=SOFT)
    for at, (head, width) in enumerate(zip(HEADS, WIDTHS, strict=True)):
        paper.line_of(head, width=width, align="R" if at else "L", last=at == len(HEADS) - 1)
    paper.rule()
    paper.ln(1)


def _row(paper: _Paper, row: Row) -> None:
    paper.ink(9)
    wrapped = _wrapped(paper, paper.said(row.description), width=WIDTHS[0] - 4)
    if paper.y + LINE * (len(wrapped) + 1) + 1 > paper.h - BOTTOM:
        paper.add_page()
        _table_head(paper)
        paper.ink(9)
    for at, text in enumerate(wrapped):
        paper.cell(WIDTHS[0], LINE, text, new_x=XPos.RIGHT, new_y=YPos.TOP)
        if at == 0:
            for value, width in zip((row.quantity, row.unit, row.amount), WIDTHS[1:], strict=True):
                paper.line_of(value, width=width, align="R", last=False)
        paper.ln(LINE)
    paper.ink(8, color=SOFT)
    paper.line_of(row.period)
    paper.rule()
    paper.ln(1)


def _wrapped(paper: _Paper, text: str, *, width: float) -> list[str]:
    """The text in lines of this width; most have one, and to find that out costs little."""
    if paper.get_string_width(text) <= width:
        return [text]
    lines = paper.multi_cell(width + 2, LINE, text, dry_run=True, output=MethodReturnValue.LINES, align="L")
    return [str(each) for each in lines] if isinstance(lines, list) else [text]


def _totals(paper: _Paper) -> None:
    needed = LINE * (len(paper.sheet.totals) + 5)
    if paper.y + needed > paper.h - BOTTOM:
        paper.add_page()
    left = sum(WIDTHS) - 80
    for name, value in (*paper.sheet.totals, ("Amount due", paper.sheet.due)):
        paper.set_x(MARGIN + left)
        paper.ink(10, bold=name in {"Total", "Amount due"})
        paper.line_of(name, width=38, last=False)
        paper.line_of(value, width=42, align="R")
    paper.ln(5)
    paper.ink(10)
    paper.multi_cell(0, LINE + 0.6, paper.said(paper.sheet.note), align="L")

"""PDF: any text can be written."""

import io
import string
from dataclasses import replace
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped] # it has no types
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped] # as above
from hypothesis import given, strategies as st
from pypdf import PdfReader

from builders.invoices.documents import pdf
from builders.invoices.documents.document import Document, Row
from builders.kit.http import slices
from tests.random_cases import cases

DOCUMENT = Document(
    number="INV-2026-000001",
    status="Open",
    settled=False,
    is_test=False,
    seller=["Harbour Names Ltd", "1 Quay Street"],
    buyer=["Ada"],
    facts=[("Issued", "2026-11-20")],
    rows=[Row(description="ada@harbour.example", period="", quantity="1", unit="10.00", amount="10.00")],
    totals=[("Total", "10.00 USD")],
    due="10.00 USD",
    note="Please pay.",
)
ANY = st.text(st.characters(), max_size=200)


def text_of(source: Document, *, font: Path | None = None) -> str:
    """Return the text of the PDF."""
    content = slices.run_at_once(pdf.write_pdf(source, font=font))
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)


@cases(15)
@given(ANY, ANY, ANY)
def test_any_text_can_be_written(name: str, address: str, description: str) -> None:
    row = replace(DOCUMENT.rows[0], description=description)
    source = replace(DOCUMENT, buyer=[name, address], rows=[row], facts=[("Payment", name)], note=address)
    assert "INV-2026-000001" in text_of(source)


@given(ANY)
def test_any_text_is_transliterated(text: str) -> None:
    spelled = pdf.transliterate(text)
    spelled.encode(pdf.ENCODING)
    assert "\n" not in spelled


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("Müller & Søn: 5 €", "Müller & Søn: 5 €"),
        ("Łukasz Żółć", "Lukasz Zólc"),
        ("Ελλάδα", "Ellada"),
        ("Щука Ёлкина", "Shchuka Elkina"),
        ("İstanbul ﬁ Ⅷ", "Istanbul fi VIII"),
        ("株式会社", "????"),
        ("a\r\n\x00b\u202ec", "a bc"),
        ("\ud800", "?"),
    ],
)
def test_a_character_is_transliterated(text: str, spelled: str) -> None:
    assert pdf.transliterate(text) == spelled


def test_long_descriptions_are_wrapped_and_continue_on_more_pages() -> None:
    row = replace(DOCUMENT.rows[0], description="word " * 80)
    text = text_of(replace(DOCUMENT, rows=[row] * 60))
    assert text.count("word") == 80 * 60
    assert text.count("Description") > 5  # the head of the table is on each page


@pytest.fixture
def font(tmp_path: Path) -> Path:
    """Make a font that shows each character as a box, with characters that Helvetica lacks."""
    glyphs = {ord(each): f"g{ord(each)}" for each in f"{string.digits}{string.ascii_letters} .,:-/@株式会社Żółć"}
    names = [".notdef", *glyphs.values()]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 500), (500, 500), (500, 0)):
        pen.lineTo(corner)
    pen.closePath()
    made = FontBuilder(1000)
    made.setupGlyphOrder(names)
    made.setupCharacterMap(glyphs)
    made.setupGlyf(dict.fromkeys(names, pen.glyph()))
    made.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    made.setupOS2(sTypoAscender=800, sTypoDescender=-200)
    made.setupPost()
    made.save(tmp_path / "boxes.ttf")
    return tmp_path / "boxes.ttf"


def test_a_custom_font_shows_its_characters(font: Path) -> None:
    text = text_of(replace(DOCUMENT, buyer=["株式会社 Żółć 😀"]), font=font)
    assert "株式会社 Żółć" in text
    assert "INV-2026-000001" in text


left_open = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # by fpdf2


@left_open
@pytest.mark.parametrize("kept", [0, 4, 300, 1500, 3000])
def test_a_damaged_font_is_ignored(font: Path, kept: int) -> None:
    font.write_bytes(font.read_bytes()[:kept])
    assert "INV-2026-000001" in text_of(DOCUMENT, font=font)


@left_open
@pytest.mark.parametrize("table", [b"head", b"cmap", b"hhea"])
def test_a_font_without_a_needed_table_is_ignored(font: Path, table: bytes) -> None:
    font.write_bytes(font.read_bytes().replace(table, b"xxxx"))
    assert "INV-2026-000001" in text_of(DOCUMENT, font=font)


def test_a_missing_font_is_ignored(tmp_path: Path) -> None:
    assert "INV-2026-000001" in text_of(DOCUMENT, font=tmp_path / "missing.ttf")


def test_the_placeholder_of_the_page_count_is_not_replaced_in_names() -> None:
    text = text_of(replace(DOCUMENT, buyer=["{nb}", " {nb} of  {nb}"], number="INV-2026-000001"))
    assert "{nb} of {nb}" in text
    assert "1 / 1" in " ".join(text.split())


def test_an_invoice_of_a_sandbox_is_marked() -> None:
    assert "not a real invoice" in text_of(replace(DOCUMENT, is_test=True))

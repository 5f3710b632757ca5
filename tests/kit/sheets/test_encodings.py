"""The encoding of a file: proven, named, or guessed."""
# ruff: noqa: RUF001 - the characters are the cases

import codecs
from pathlib import Path

import pytest

from builders.kit.sheets.encodings import (
    Encoding,
    detect_encoding,
    find_encoding,
    find_example,
    list_encodings,
    read_lines,
)

TEXT = "Domain,Note\r\ncafé.example,naïve\r\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp1252"), "cp1252"),
        (b"", "utf-8"),
    ],
)
def test_the_encoding_is_found(content: bytes, encoding: str) -> None:
    assert detect_encoding(content).name == encoding
    assert "".join(read_lines(content, encoding)) == (TEXT if content else "")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Domain,Expires\nпримерab12.com,2027-03-01\n"),
        ("cp1251", "ПРИМЕР,Москва"),
        ("koi8-r", "хорошее имя"),
        ("cp866", "хорошее имя"),
        ("cp1254", "ığdır1.com"),
        ("cp1254", "güzel alan adı"),
        ("cp1253", "καλό όνομα"),
        ("cp1256", "اسم جيد"),
        ("cp874", "โดเมนที่ดี"),
        ("cp1257", "labs domēns, šķirne"),
        ("cp1250", "sprzedać później, ważna, żółta"),
        ("cp1250", "příliš žluťoučký kůň"),
        ("cp1252", "Grüße aus Köln"),
        ("cp1252", "naïve café"),
        ("mac-roman", "à vendre bientôt, très bonne idée"),
        ("gb18030", "这是一个好域名"),
        ("big5", "這是一個好域名"),
        ("cp932", "この名前は良い"),
        ("euc_jp", "この名前は良い"),
        ("cp949", "좋은 도메인"),
    ],
)
def test_a_guess_reads_the_languages_of_files(encoding: str, text: str) -> None:
    found = detect_encoding(text.encode(encoding))
    assert (text.encode(encoding).decode(found.name), len(found.others) > 0) == (text, True)


@pytest.mark.parametrize("content", [b"a.com\n", "ü.com".encode(), "ü".encode("utf-16"), "ü".encode("utf-8-sig")])
def test_what_the_bytes_prove_is_no_guess(content: bytes) -> None:
    assert not detect_encoding(content).is_guess


def test_japanese_in_seven_bits_names_itself() -> None:
    assert detect_encoding("この名前".encode("iso2022_jp")) == Encoding(name="iso2022_jp")


def test_utf8_with_a_wrong_byte_stays_utf8() -> None:
    found = detect_encoding("Grüße, größer, schöner, über\n".encode() * 10 + b"\xff\n")
    assert (found.name, found.bad_bytes, found.is_guess) == ("utf-8", True, True)


def test_a_named_encoding_counts_unless_a_byte_order_mark_says_another() -> None:
    assert detect_encoding(b"\xef\xf0", "cp1253") == Encoding(name="cp1253")
    assert detect_encoding(codecs.BOM_UTF8 + b"a", "cp1251").name == "utf-8-sig"
    assert detect_encoding(b"\xff", "utf-8").bad_bytes


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_named_encoding_of_wide_units_needs_no_byte_order_mark(encoding: str) -> None:
    content = "Домен,Заметки\nпример.com,привет\n".encode(encoding)
    assert detect_encoding(content, encoding[:6]) == Encoding(name=encoding)


def test_the_next_likely_reading_of_a_name() -> None:
    content = "примерab12.com".encode("cp1251")
    found = detect_encoding(content)
    example = find_example(content, found)
    assert example is not None
    assert (example[0], example[2].encode(example[1])) == ("примерab", "примерab".encode("cp1251"))
    assert Encoding(name="cp1251", others=["cp1252"]).other_reading("пример") == ("cp1252", "ïðèìåð")
    assert Encoding(name="cp1251", others=["cp1252"]).other_reading("\ufffd") is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("windows-1251", "cp1251"),
        ("GBK", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("latin1", "cp1252"),
        ("macroman", "mac-roman"),
        ("EUC-KR", "cp949"),
        ("base64", None),
        ("unicode_escape", None),
        ("\0", None),
        ("no such", None),
    ],
)
def test_an_encoding_has_its_usual_names(name: str, found: str | None) -> None:
    assert find_encoding(name) == found


def test_each_listed_encoding_has_a_codec() -> None:
    assert [find_encoding(each) for each in list_encodings()] == [*list_encodings()]


def test_a_guess_of_a_large_file_reads_a_sample() -> None:
    content = b"a.com,plain\n" * 100_000 + "b.com,Grüße\n".encode("cp1252")
    assert detect_encoding(content).name == "cp1252"


def test_encodings_with_the_same_text_are_one_reading() -> None:
    found = detect_encoding("Müller\n".encode("cp1252"))
    readings = [b"M\xfcller".decode(each, "replace") for each in (found.name, *found.others)]
    assert (found.is_guess, len(readings)) == (True, len(set(readings)))


def test_the_reference_names_each_encoding() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/files.md").read_text(encoding="utf-8")
    assert [each for each in list_encodings() if f"`{each}`" not in page] == []

"""Delimiter, header and records of a sheet."""

from collections.abc import Sequence

import pytest

from builders.kit.sheets.csv_files import (
    Layout,
    Words,
    detect_layout,
    normalize_header,
    records,
)
from builders.kit.sheets.encodings import read_lines

KEYS = {"domain", "domain name"}
KNOWN = {"domain", "domain name", "expires", "price", "currency"}
WORDS = Words(is_known=KNOWN.__contains__, is_key=KEYS.__contains__, is_value=lambda cell: "." in cell)


def layout(text: str) -> Layout:
    return detect_layout(text.splitlines(keepends=True), WORDS)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_banner_lines_are_skipped(delimiter: str) -> None:
    text = f"My domains, as of today\n\nDomain Name{delimiter}Expires\na.com{delimiter}2027-01-01\n"
    found = layout(text)
    assert (found.delimiter, found.header, found.header_line) == (delimiter, ["Domain Name", "Expires"], 3)


def test_decimal_commas_do_not_hide_semicolons() -> None:
    found = layout("Domain;Price;Currency\n" + "a.com;1,50;EUR\n" * 30)
    assert (found.delimiter, found.width) == (";", 3)


def test_sheets_without_a_header() -> None:
    found = layout("a.com\nb.com\n")
    assert (found.header, found.header_line, found.width) == ((), 0, 1) or found.header == []
    assert layout("domain\na.com\n").header_line == 1
    assert layout("Domains\nDomain Name,Price\na.com,1\n").header_line == 2
    assert layout("note,domain\nx,a.com\n").header_line == 1
    assert layout("a.com,2027-01-01\nb.com,2027-01-01\n").width == 2
    assert layout("").header_line == 0


def test_a_first_row_that_cannot_be_a_row_is_a_header_of_unknown_words() -> None:
    found = layout("Domena;Rejestrator\na.pl;OVH\n")
    assert (found.header, found.header_line, found.delimiter) == (["Domena", "Rejestrator"], 1, ";")
    assert layout("Domena\na.pl\n").header_line == 0  # one name per line is no guess


def test_a_delimiter_with_a_rival_is_told() -> None:
    assert layout("a.com;1,b.com;2\nc.com;3,d.com;4\n").rival is not None
    assert layout("domain;price\na.com;1,50\n").rival is None
    assert layout("a.com;x\nb.com;y\n").rival is None


def test_headers_are_compared_by_their_words() -> None:
    assert normalize_header("*Name (Required)") == "name required"
    assert normalize_header(" Auto-Renew ") == "auto renew"


def read(text: str) -> Sequence[tuple[int, list[str] | None]]:
    return list(records(text.splitlines(keepends=True), may_break=lambda cells: len(cells) == 2))


def test_a_quote_left_open_spoils_its_line_alone() -> None:
    assert read('a,"1\nb,2\nc,"3"\n') == [(1, None), (2, ["b", "2"]), (3, ["c", "3"])]
    assert read('a,"1\n2"\nb,"x ""y"" z"\n') == [(1, ["a", "1\n2"]), (3, ["b", 'x "y" z'])]
    assert read('a,"1"2\nb,2\n') == [(1, None), (2, ["b", "2"])]


def test_a_long_line_is_cut() -> None:
    lines = list(read_lines(b"a" * 2_500_000, "utf-8"))
    assert list(map(len, lines)) == [1_000_000, 1_000_000, 500_000]

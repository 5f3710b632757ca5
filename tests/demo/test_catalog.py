import csv
import re
from collections import Counter
from decimal import Decimal
from importlib.resources import as_file
from io import StringIO

import idna
import pytest

from builders.demo.images import cover_name, logo_name
from builders.demo.service import demo_csv, list_titles

HEADER = (
    "domain,title,tagline,description,categories,tags,status,mail_mode,catch_all,price_amount,price_currency,"
    "price_interval,price_tier,min_local_length,separator_policy,featured,rank,logo,cover"
)
CATEGORIES = {
    "tech",
    "developer",
    "design",
    "creator",
    "gaming",
    "music",
    "food",
    "travel",
    "fitness",
    "finance",
    "business",
    "education",
    "nature",
    "family",
    "fun",
    "short",
}
CLOSED_SETS = {
    "status": {"live", "coming_soon", "paused", "retired"},
    "mail_mode": {"mailbox", "alias", "both"},
    "catch_all": {"true", "false"},
    "price_currency": {"USD", "EUR"},
    "price_interval": {"month", "year", "once"},
    "price_tier": {"standard", "plus", "premium"},
    "separator_policy": {"ignore_dots", "ignore_all", "distinct"},
    "featured": {"true", "false"},
}

Row = dict[str, str]


@pytest.fixture(scope="module")
def text() -> str:
    return demo_csv().read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(text: str) -> list[Row]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def test_the_header_is_the_documented_one(text: str) -> None:
    assert text.splitlines()[0] == HEADER


def test_about_sixty_rows_have_a_value_for_each_column(rows: list[Row]) -> None:
    assert 58 <= len(rows) <= 66
    for row in rows:
        assert list(row) == HEADER.split(",")
        assert all(isinstance(value, str) and value == value.strip() != "" for value in row.values()), row


def test_every_domain_is_a_valid_unique_a_label_under_example(rows: list[Row]) -> None:
    domains = [row["domain"] for row in rows]
    assert len(set(domains)) == len(domains)
    for domain in domains:
        label, _, suffix = domain.partition(".")
        assert suffix == "example"
        assert idna.encode(idna.decode(label)).decode() == label


def test_two_internationalized_domains_have_titles_in_their_own_script(rows: list[Row]) -> None:
    titles = {row["domain"]: row["title"] for row in rows if row["domain"].startswith("xn--")}
    assert {idna.decode(domain): title for domain, title in titles.items()} == {
        "münchen.example": "München",
        "café.example": "Café",
    }


def test_texts_are_within_their_limits(rows: list[Row]) -> None:
    for row in rows:
        assert len(row["title"]) <= 80
        assert len(row["tagline"]) <= 140
        assert len(row["description"]) <= 2000
        tags = row["tags"].split("|")
        assert len(tags) == len(set(tags)) <= 20
        assert all(0 < len(tag) <= 30 for tag in tags)


def test_no_cell_starts_a_formula_in_a_spreadsheet(rows: list[Row]) -> None:
    assert not [value for row in rows for value in row.values() if value[0] in "=+-@"]


def test_no_text_is_repeated(rows: list[Row]) -> None:
    for column in ("title", "tagline", "description", "rank", "logo", "cover"):
        values = [row[column] for row in rows]
        assert len(set(values)) == len(values), column


@pytest.mark.parametrize("column", CLOSED_SETS)
def test_an_enum_column_has_all_its_values_and_no_others(rows: list[Row], column: str) -> None:
    assert {row[column] for row in rows} == CLOSED_SETS[column]


def test_each_of_the_sixteen_categories_has_three_claimable_domains(rows: list[Row]) -> None:
    listed = [row["categories"].split("|") for row in rows if row["status"] == "live"]
    counts = Counter(category for categories in listed for category in categories)
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 3


def test_a_domain_has_one_to_five_distinct_categories(rows: list[Row]) -> None:
    for row in rows:
        categories = row["categories"].split("|")
        assert 1 <= len(categories) == len(set(categories)) <= 5
        assert set(categories) <= CATEGORIES


def test_every_status_of_a_domain_occurs(rows: list[Row]) -> None:
    states = Counter(row["status"] for row in rows)
    assert states["coming_soon"] in {3, 4}
    assert states["paused"] == 2
    assert states["retired"] == 1
    assert sum(row["catch_all"] == "true" for row in rows) == 2


@pytest.mark.parametrize("domain", ["harbour.example", "pixel.example", "cool.example"])
def test_the_domains_that_the_documentation_names_are_live_and_featured(rows: list[Row], domain: str) -> None:
    (row,) = (row for row in rows if row["domain"] == domain)
    assert (row["status"], row["featured"], row["catch_all"]) == ("live", "true", "false")


def test_only_live_domains_are_featured(rows: list[Row]) -> None:
    assert {row["status"] for row in rows if row["featured"] == "true"} == {"live"}


def test_prices_are_positive_exact_decimals_mostly_in_dollars_per_year(rows: list[Row]) -> None:
    for row in rows:
        assert re.fullmatch(r"[0-9]+\.[0-9]{2}", row["price_amount"])
        assert Decimal(row["price_amount"]) > 0
    assert sum(row["price_currency"] == "USD" for row in rows) > len(rows) * 0.8
    assert sum(row["price_interval"] == "year" for row in rows) > len(rows) * 0.7


def test_numbers_are_integers_and_the_rows_are_sorted_by_rank(rows: list[Row]) -> None:
    assert {row["min_local_length"] for row in rows} <= {"1", "2", "3"}
    ranks = [int(row["rank"]) for row in rows]
    assert ranks == sorted(ranks, reverse=True)


def test_the_image_columns_have_the_names_of_the_drawn_files(rows: list[Row]) -> None:
    for row in rows:
        assert row["logo"] == logo_name(row["domain"])
        assert row["cover"] == cover_name(row["domain"])
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,119}", row["cover"])


def test_the_titles_are_in_the_sequence_of_the_file(rows: list[Row]) -> None:
    assert list_titles() == [(row["domain"], row["title"]) for row in rows]


def test_the_file_has_a_path_for_the_loader() -> None:
    with as_file(demo_csv()) as path:
        assert path.read_text(encoding="utf-8").startswith("domain,")

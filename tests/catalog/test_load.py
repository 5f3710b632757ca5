"""The load of a catalog file: its report, and the public catalog afterwards."""

import asyncio
from pathlib import Path

import pytest
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from builders.catalog import availability
from builders.catalog.catalog_file import loader
from builders.catalog.records import LoadReport
from tests.cast import Client
from tests.catalog.make import Loader, csv_of, fresh
from tests.catalog.test_images import picture

DOMAINS = "/v1/catalog/domains"


def counts(report: LoadReport) -> tuple[int, int, int, int]:
    return report.created, report.updated, report.unchanged, len(report.errors)


async def test_a_new_domain_is_public_at_once(anyone: Client, load: Loader) -> None:
    domain = fresh()
    report = await load({"domain": domain, "title": "Harbour", "price_amount": "24"})
    assert counts(report) == (1, 0, 0, 0)
    assert report.is_written
    shown = (await anyone.get(f"{DOMAINS}/{domain}")).json()
    assert shown["title"] == "Harbour"
    assert shown["price"] == {"amount": "24.00", "currency": "USD", "interval": "year", "tier": "standard"}


async def test_loading_again_changes_nothing(anyone: Client, load: Loader) -> None:
    rows = [{"domain": fresh(), "title": "One", "tags": "a|b"}, {"domain": fresh(), "title": "Two", "tags": ""}]
    await load(*rows)
    before = await anyone.get(DOMAINS)
    report = await load(*rows)
    assert counts(report) == (0, 0, 2, 0)
    assert (await anyone.get(DOMAINS)).headers["etag"] == before.headers["etag"]


async def test_only_changed_domains_are_written(anyone: Client, load: Loader) -> None:
    same, other = fresh(), fresh()
    await load({"domain": same, "title": "S"}, {"domain": other, "title": "O"})
    before = (await anyone.get(f"{DOMAINS}/{same}")).json()
    report = await load({"domain": same, "title": "S"}, {"domain": other, "title": "New"})
    assert counts(report) == (0, 1, 1, 0)
    assert (await anyone.get(f"{DOMAINS}/{same}")).json() == before
    assert (await anyone.get(f"{DOMAINS}/{other}")).json()["title"] == "New"


async def test_an_absent_column_keeps_the_values(anyone: Client, load: Loader) -> None:
    domain = fresh()
    await load({"domain": domain, "title": "Kept", "price_amount": "9.00", "rank": "5"})
    await load({"domain": domain, "rank": ""})
    shown = (await anyone.get(f"{DOMAINS}/{domain}")).json()
    assert (shown["title"], shown["price"]["amount"], shown["rank"]) == ("Kept", "9.00", 0)


async def test_one_invalid_row_stops_the_whole_load(anyone: Client, load: Loader) -> None:
    good = fresh()
    report = await load({"domain": good, "status": "live"}, {"domain": fresh(), "status": "high"})
    assert not report.is_written
    assert [(line.line, line.column, line.code) for line in report.errors] == [(3, "status", "value_unknown")]
    assert (await anyone.get(f"{DOMAINS}/{good}")).status_code == 404


async def test_a_partial_load_writes_the_valid_rows(anyone: Client, load: Loader) -> None:
    good = fresh()
    report = await load({"domain": good, "status": "live"}, {"domain": fresh(), "status": "high"}, partial=True)
    assert counts(report) == (1, 0, 0, 1)
    assert (report.rows, report.is_written) == (2, True)
    assert (await anyone.get(f"{DOMAINS}/{good}")).status_code == 200


async def test_a_dry_run_reports_the_changes_and_writes_nothing(anyone: Client, load: Loader) -> None:
    known, new = fresh(), fresh()
    (load.folder / "a.png").write_bytes(picture(size=(31, 7)))
    await load({"domain": known, "title": "Old", "logo": ""})
    held = set(load.assets.iterdir()) if load.assets.exists() else set()
    report = await load(
        {"domain": known, "title": "New", "logo": ""}, {"domain": new, "title": "N", "logo": "a.png"}, dry_run=True
    )
    assert counts(report) == (1, 1, 0, 0)
    assert not report.is_written
    assert (await anyone.get(f"{DOMAINS}/{new}")).status_code == 404
    assert (await anyone.get(f"{DOMAINS}/{known}")).json()["title"] == "Old"
    assert (set(load.assets.iterdir()) if load.assets.exists() else set()) == held


async def test_a_repeated_domain_is_reported_with_its_first_line(load: Loader) -> None:
    domain = fresh("bücher")
    report = await load({"domain": domain}, {"domain": fresh()}, {"domain": domain.upper()})
    (line,) = report.errors
    assert (line.line, line.column, line.code) == (4, "domain", "duplicate")
    assert "Line 2" in line.message


async def test_an_unknown_category_is_ignored_with_a_warning(load: Loader) -> None:
    report = await load({"domain": fresh(), "price_amount": "1", "categories": "music|musik"})
    assert [(line.line, line.column, line.code) for line in report.warnings] == [
        (2, "categories", "category_unknown")
    ]
    assert counts(report) == (1, 0, 0, 0)


async def test_a_file_without_prices_warns_that_names_cost_nothing(load: Loader) -> None:
    report = await load({"domain": fresh()})
    assert [line.code for line in report.warnings] == ["price_missing"]


async def test_images_are_stored_and_served(anyone: Client, load: Loader) -> None:
    domain = fresh()
    (load.folder / "logo.png").write_bytes(picture())
    await load({"domain": domain, "title": "Harbour", "logo": "logo.png", "cover": ""})
    assets = (await anyone.get(f"{DOMAINS}/{domain}")).json()["assets"]
    assert assets["cover"] is None
    assert assets["logo"]["alt"] == "Harbour logo"
    assert (assets["logo"]["width"], assets["logo"]["height"]) == (16, 12)
    assert (await anyone.get(assets["logo"]["url"])).content == picture()


async def test_a_missing_image_is_a_warning_and_keeps_the_present_one(anyone: Client, load: Loader) -> None:
    domain = fresh()
    (load.folder / "logo.png").write_bytes(picture())
    await load({"domain": domain, "logo": "logo.png", "price_amount": "1"})
    report = await load({"domain": domain, "logo": "gone.png", "price_amount": "1"})
    assert [(line.line, line.column, line.code) for line in report.warnings] == [(2, "logo", "image_missing")]
    assert counts(report) == (0, 0, 1, 0)
    await load({"domain": domain, "logo": ""})
    assert (await anyone.get(f"{DOMAINS}/{domain}")).json()["assets"]["logo"] is None


async def test_an_invalid_image_is_an_error_of_its_row(load: Loader) -> None:
    (load.folder / "logo.png").write_bytes(b"<svg onload=alert(1)>")
    report = await load({"domain": fresh(), "logo": "logo.png"}, {"domain": fresh(), "logo": "../../etc/passwd"})
    assert [(line.line, line.column, line.code) for line in report.errors] == [
        (2, "logo", "image_type"),
        (3, "logo", "image_type"),
    ]


async def test_a_file_without_the_column_domain_is_refused(load: Loader) -> None:
    report = await load(raw=b"name\na.example\n", partial=True)
    assert [(line.line, line.code) for line in report.errors] == [(1, "header_invalid")]
    assert not report.is_written


async def test_a_file_that_is_too_large_is_refused(load: Loader) -> None:
    report = await load(raw=csv_of([{"domain": fresh()}]).ljust(loader.MAX_BYTES + 1, b"\n"))
    assert [line.code for line in report.errors] == ["file_too_large"]


async def test_a_file_of_too_many_rows_is_refused_as_a_whole(anyone: Client, load: Loader) -> None:
    domains = [fresh() for _ in range(3)]
    report = await load(*({"domain": domain} for domain in domains), partial=True, max_rows=2)
    assert [(line.line, line.code) for line in report.errors] == [(1, "too_many_rows")]
    assert (await anyone.get(f"{DOMAINS}/{domains[0]}")).status_code == 404


async def test_a_domain_that_is_no_longer_public_disappears_and_can_come_back(
    anyone: Client, load: Loader
) -> None:
    domain = fresh()
    for status, answer in [("live", 200), ("paused", 404), ("coming_soon", 200), ("retired", 404), ("live", 200)]:
        await load({"domain": domain, "status": status})
        assert (await anyone.get(f"{DOMAINS}/{domain}")).status_code == answer, status


async def test_concurrent_loads_both_apply(anyone: Client, load: Loader, tmp_path: Path) -> None:
    domains = [fresh() for _ in range(40)]
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, chosen in zip(folders, (domains[:30], domains[10:]), strict=True):
        folder.mkdir()
        (folder / "catalog.csv").write_bytes(csv_of({"domain": domain} for domain in chosen))
    loaders = [Loader(load.service, folder) for folder in folders]
    reports = await asyncio.gather(
        *(loader(raw=(loader.folder / "catalog.csv").read_bytes()) for loader in loaders)
    )
    assert sum(report.created for report in reports) == 40
    assert sum(report.unchanged for report in reports) == 20
    for domain in domains:
        assert (await anyone.get(f"{DOMAINS}/{domain}")).status_code == 200


async def test_find_domains_returns_domains_of_any_status(conn: AsyncConnection[TupleRow], load: Loader) -> None:
    live, retired, band = fresh(), fresh(), fresh()
    await load({"domain": live}, {"domain": retired})
    await load({"domain": retired, "status": "retired"})
    await load({"domain": band, "price_amount": "12", "short_name_prices": "3:60|2:120"})
    found = await availability.load_domains(conn, domains=[live, retired, band, "nowhere.example"])
    assert {domain: each.claimable for domain, each in found.items()} == {live: True, retired: False, band: True}
    prices = [found[band].price_for(key, is_premium=False).amount for key in ("ab", "abc", "abcd")]
    assert prices == ["120.00", "60.00", "12.00"]
    assert found[band].price_for("coffee", is_premium=True).amount == "120.00"


@pytest.mark.parametrize(
    ("partial", "written", "status"),
    [
        pytest.param(False, (False, 0, 0), 404, id="nothing is written"),
        pytest.param(True, (True, 1, 1), 200, id="partial: the other rows are written"),
    ],
)
async def test_the_separator_policy_of_a_live_domain_is_fixed(
    anyone: Client, load: Loader, written: tuple[bool, int, int], status: int, *, partial: bool
) -> None:
    live, soon, other = fresh("live"), fresh("soon"), fresh("other")
    before = {"separator_policy": "ignore_dots"}
    await load({"domain": live, "status": "live", **before}, {"domain": soon, "status": "coming_soon", **before})
    changed = [{"domain": each, "separator_policy": "distinct"} for each in (live, soon, other)]

    report = await load(*changed, partial=partial)

    assert [(line.line, line.column, line.code) for line in report.errors] == [
        (2, "separator_policy", "policy_fixed")
    ]
    assert (report.is_written, report.created, report.updated) == written
    kept = (await anyone.get(f"/v1/catalog/domains/{live}")).json()
    assert kept["separator_policy"] == "ignore_dots"
    assert (await anyone.get(f"/v1/catalog/domains/{other}")).status_code == status

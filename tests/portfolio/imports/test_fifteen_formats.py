"""900 domains from fifteen formats go in, out, and in again elsewhere: every answer is the same."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from tests.cast import Person
from tests.portfolio.imports import registrars, vendors
from tests.portfolio.imports.make import JSON_EXPORT, Json, counts, load, ok
from tests.portfolio.imports.test_export import without_ids
from tests.portfolio.imports.vendors import Held
from tests.portfolio.parking.make import REVENUE

EACH = 60  # domains of a file, with all combinations of their settings
HELD = vendors.portfolio()[: 15 * EACH]
FORMATS: Mapping[str, Callable[[Sequence[Held]], bytes]] = {
    "godaddy": vendors.godaddy,
    "namecheap": vendors.namecheap,
    "porkbun": vendors.porkbun,
    "dynadot": vendors.dynadot,
    "efty": vendors.efty,
    "gandi": registrars.gandi,
    "namecom": registrars.namecom,
    "sav": registrars.sav,
    "netsol": registrars.netsol,
    "hexonet": registrars.hexonet,
    "parkio": registrars.parkio,
    "dombot": registrars.dombot,
    "domainmod": registrars.domainmod,
    "dan": registrars.dan,
    "generic": registrars.german,
}
SAME = (
    *("summary", "parking?days=365", "parking?days=365&group_by=day", "renewals?within_days=365", "tags"),
    *("domains?limit=500&sort=domain", "domains?limit=500&sort=expires_at&registrar=Dynadot"),
)


async def test_fifteen_formats_go_in_out_and_in_again_elsewhere(alice: Person, bob: Person) -> None:
    await _load_files(alice)
    rows: list[Json] = ok(await alice.get(JSON_EXPORT))["rows"]
    assert len(rows) == len(HELD) == 900

    for at in range(0, len(rows), EACH):
        assert counts(await load(bob, rows[at : at + EACH])) == {"created": EACH}

    assert ok(await bob.get(JSON_EXPORT))["rows"] == rows
    finances = [f"domains/{each.name}/finance" for each in HELD[::30]]
    for path in (*SAME, *finances):
        own, others = [await _read(owner, path) for owner in (alice, bob)]
        assert own == others, path


async def _read(owner: Person, path: str) -> list[Any]:
    """The pages of an answer, without ids and cursors."""
    pages, cursor = list[Any](), ""
    while not pages or cursor:
        params = {"cursor": cursor} if cursor else {}
        page = ok(await owner.get(httpx.URL(f"/v1/portfolio/{path}").copy_merge_params(params)))
        cursor = page.pop("next_cursor", None) or ""
        pages.append(without_ids(page))
    return pages


async def _load_files(owner: Person) -> None:
    """Import fifteen lists, the lists of two marketplaces, a report of sales and one of parking."""
    files = list(FORMATS.items())
    for at, (name, write) in enumerate(files):
        imported = await load(owner, write(HELD[at * EACH : (at + 1) * EACH]))
        assert (imported["detected"]["format"], counts(imported)) == (name, {"created": EACH})
        assert problems(imported) == []
    for write in (vendors.sedo, vendors.afternic):
        assert counts(await load(owner, write(HELD[:EACH]))) == {"updated": EACH}
    sold = await load(owner, registrars.sales(HELD[200:230]), format="afternic-sales")
    assert problems(sold) == [(32, "Price (USD)", "sale_amount_missing")]
    answer = await owner.post(
        REVENUE,
        content=registrars.bodis(HELD[300:360]),
        params={"from": "2026-03-01", "to": "2026-03-31", "currency": "USD"},
        headers={"Content-Type": "text/csv"},
    )
    assert answer.status_code == 201, answer.text
    assert problems(answer.json()) == [(62, "domain", "portfolio_domain_not_found")]


def problems(imported: Json) -> list[tuple[int, Any, str]]:
    """Line, column and code of each refused or ignored cell."""
    return [
        (each["line"], problem["field"], problem["code"])
        for each in imported["results"]
        for problem in (*each["errors"], *each["warnings"])
    ]

"""The inventory: listed with filters, and imported from files."""

import asyncio
import gzip
from datetime import timedelta
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Person
from tests.conftest import MakePerson
from tests.heavy import held_turn
from tests.portfolio.domains.make import DOMAINS, add, names
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.sync import INVENTORY, Json, fake_of, ok, sync
from tests.portfolio.team.make import code, join, of

IMPORT = f"{INVENTORY}/import"
CORNER = "manual:corner"
FILE = """domain,expires,auto renew,locked,renewal price
a.com,2027-03-01,yes,no,12.50
BÜCHER.com,2027-04-01,no,,
nonsense,2027-04-01,,,
a.com,,,yes,
"""


async def load(person: Person, **body: object) -> Json:
    return ok(await person.post(IMPORT, json={"provider": CORNER, **body}))


async def listed(person: Person, **query: str | bool) -> list[str]:
    return [each["domain"] for each in ok(await person.get(INVENTORY, params=query))["items"]]


@pytest.fixture
async def held(alice: Person, fakes: FakeServer, worker: Settings) -> Json:
    """What two registrars hold, one domain of which the portfolio has: that domain."""
    await connect(alice, fake_of("porkbun", "a.com", "b.com"), fakes)
    await connect(alice, fake_of("spaceship", "b.com", "xn--bcher-kva.com"), fakes)
    domain = await add(alice, "b.com")
    await sync(alice, worker)
    return domain


async def test_the_inventory_shows_what_a_registrar_says(alice: Person, held: Json) -> None:
    row = ok(await alice.get(INVENTORY))["items"][1]
    assert (row["domain"], row["provider"], row["domain_id"]) == ("b.com", "porkbun", held["id"])
    assert (row["expires_at"], row["status"], row["source"]) == ("2027-02-28T12:00:00Z", "active", "api")


@pytest.mark.usefixtures("held")
async def test_the_inventory_shows_what_the_portfolio_lacks(alice: Person) -> None:
    row = ok(await alice.get(INVENTORY))["items"][0]
    assert (row["domain"], row["in_portfolio"], row["domain_id"]) == ("a.com", False, None)


@pytest.mark.usefixtures("held")
async def test_the_inventory_shows_names_of_other_scripts(alice: Person) -> None:
    assert ok(await alice.get(INVENTORY))["items"][-1]["unicode"] == "b\u00fccher.com"


@pytest.mark.usefixtures("held")
async def test_the_next_page_of_the_inventory_begins_within_a_domain(alice: Person) -> None:
    page = ok(await alice.get(INVENTORY, params={"limit": 2}))
    rest = ok(await alice.get(INVENTORY, params={"limit": 2, "cursor": page["next_cursor"]}))
    assert [(each["domain"], each["provider"]) for each in rest["items"]] == [
        ("b.com", "spaceship"),
        ("xn--bcher-kva.com", "spaceship"),
    ]
    assert rest["next_cursor"] is None


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"provider": "Porkbun"}, ["a.com", "b.com"]),
        ({"provider": "gandi"}, []),
        ({"provider": "porkbun", "matched": True}, ["b.com"]),
        ({"matched": True}, ["b.com", "b.com"]),
        ({"matched": False}, ["a.com", "xn--bcher-kva.com"]),
        ({"stale": True}, []),
        ({"stale": False, "provider": "porkbun"}, ["a.com", "b.com"]),
    ],
    ids=str,
)
async def test_the_inventory_is_filtered(alice: Person, query: dict[str, Any], names: list[str]) -> None:
    assert await listed(alice, **query) == names


async def test_the_inventory_of_one_domain_names_its_registrars(alice: Person, held: Json) -> None:
    items = ok(await alice.get(INVENTORY, params={"domain_id": held["id"]}))["items"]
    assert [(each["domain"], each["provider"]) for each in items] == [("b.com", "porkbun"), ("b.com", "spaceship")]
    assert await listed(alice, domain_id=held["id"], provider="Spaceship") == ["b.com"]


async def test_a_stranger_sees_no_registrar_of_a_domain(alice: Person, bob: Person, held: Json) -> None:
    assert await listed(bob, domain_id=held["id"]) == []
    assert await listed(alice, domain_id=held["id"]) == ["b.com", "b.com"]


@pytest.mark.usefixtures("held")
async def test_what_was_not_listed_for_two_days_is_stale(alice: Person) -> None:
    clock.move(timedelta(hours=49))
    assert await listed(alice, stale=True, provider="porkbun") == ["a.com", "b.com"]


@pytest.mark.usefixtures("held")
async def test_bob_sees_nothing_of_what_alice_holds(bob: Person) -> None:
    assert await listed(bob) == []


@pytest.mark.usefixtures("held")
async def test_the_inventory_names_the_latest_listings(alice: Person) -> None:
    snapshots = ok(await alice.get(INVENTORY))["snapshots"]
    assert [(each["provider"], each["complete"], each["domains"]) for each in snapshots] == [
        ("porkbun", True, 2),
        ("spaceship", True, 2),
    ]


@pytest.mark.usefixtures("held")
async def test_a_listing_has_its_age(alice: Person) -> None:
    clock.move(timedelta(hours=1))
    assert 3_600 <= ok(await alice.get(INVENTORY))["snapshots"][0]["age_s"] < 3_700


async def send(person: Person, content: bytes, **query: str | bool) -> Any:
    """Send a file as it is."""
    params = {"provider": CORNER, **query}
    return await person.post(IMPORT, params=params, content=content, headers={"Content-Type": "text/csv"})


async def test_a_file_is_counted_by_outcome(alice: Person) -> None:
    assert (await load(alice, csv=FILE))["summary"] == {
        "total": 4, "created": 2, "updated": 0, "unchanged": 1, "skipped": 0, "errors": 1
    }  # fmt: skip


async def test_a_dry_run_of_a_file_has_the_same_counts(alice: Person) -> None:
    planned = await load(alice, csv=FILE, dry_run=True)
    assert await listed(alice) == []
    assert (await load(alice, csv=FILE))["summary"] == planned["summary"]


async def test_each_row_of_a_file_has_its_line(alice: Person) -> None:
    rows = (await load(alice, csv=FILE))["results"]
    assert [(each["line"], each["outcome"]) for each in rows] == [
        (2, "created"),
        (3, "created"),
        (4, "error"),
        (5, "unchanged"),
    ]


async def test_a_row_without_a_domain_has_an_error(alice: Person) -> None:
    row = (await load(alice, csv=FILE))["results"][2]
    assert [each["code"] for each in row["errors"]] == ["domain_invalid"]


async def test_a_domain_of_the_portfolio_gets_the_values_of_a_file(alice: Person) -> None:
    await add(alice, "a.com", expires_at="2026-01-01T00:00:00Z")
    assert (await load(alice, csv=FILE))["updated_domains"] == 1
    domain = ok(await alice.get(f"{DOMAINS}/a.com"))
    assert (domain["expires_at"], domain["expiry_source"]) == ("2027-03-01T00:00:00Z", "registrar")
    assert (domain["auto_renew"], domain["locked"], domain["registrar"]) == (True, True, "corner")
    assert domain["renewal_price"] == {"amount": "12.50", "currency": "USD"}


async def test_the_inventory_has_the_rows_of_a_file(alice: Person) -> None:
    await load(alice, csv=FILE)
    found = ok(await alice.get(INVENTORY, params={"provider": CORNER}))["items"]
    assert [(each["domain"], each["source"], each["auto_renew"]) for each in found] == [
        ("a.com", "import", True),
        ("xn--bcher-kva.com", "import", False),
    ]


async def test_a_repeated_file_changes_nothing(alice: Person) -> None:
    await add(alice, "a.com")
    await load(alice, csv=FILE)
    again = await load(alice, csv=FILE)
    assert (again["summary"]["unchanged"], again["updated_domains"]) == (3, 0)


async def test_files_of_one_registrar_are_of_one_connection(alice: Person) -> None:
    made = [await load(alice, csv=FILE) for _ in range(2)]
    assert made[0]["connection_id"] == made[1]["connection_id"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
async def test_a_file_is_sent_as_it_is_in_any_encoding(alice: Person, encoding: str) -> None:
    named = {"encoding": encoding} if encoding == "cp1252" else {}  # its bytes do not show it
    ok(await send(alice, FILE.encode(encoding), **named))
    assert await listed(alice) == ["a.com", "xn--bcher-kva.com"]


async def test_a_dry_run_of_a_sent_file_writes_nothing(alice: Person) -> None:
    planned = ok(await send(alice, FILE.encode(), dry_run=True))
    assert (planned["dry_run"], await listed(alice)) == (True, [])


async def test_the_domains_of_a_sent_file_are_added_on_request(alice: Person) -> None:
    assert ok(await send(alice, FILE.encode(), add_to_portfolio=True))["added_domains"] == 2
    assert sorted(await names(alice)) == ["a.com", "xn--bcher-kva.com"]


async def test_a_sent_file_replaces_the_listing_on_request(alice: Person) -> None:
    await load(alice, domains=["old.com"])
    replaced = ok(await send(alice, b"domain\na.com\n", mode="replace_snapshot"))
    assert (replaced["complete"], replaced["missing"]) == (True, 1)


async def test_a_sent_file_names_its_registrar(alice: Person) -> None:
    refused = await alice.post(IMPORT, content=FILE.encode(), headers={"Content-Type": "text/csv"})
    [error] = refused.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", "provider"], "missing")


async def test_the_registrar_of_json_is_also_named_in_the_query(alice: Person) -> None:
    imported = ok(await alice.post(IMPORT, params={"provider": CORNER}, json={"domains": ["a.com"]}))
    assert imported["provider"] == CORNER


async def test_a_compressed_file_is_refused(alice: Person) -> None:
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}
    content = gzip.compress(FILE.encode())
    refused = await alice.post(IMPORT, params={"provider": CORNER}, content=content, headers=headers)
    assert code(refused) == (415, "media_type_unsupported")


async def test_a_file_that_is_compressed_is_refused_by_its_kind(alice: Person) -> None:
    refused = await send(alice, gzip.compress(FILE.encode()))
    assert code(refused) == (422, "file_unsupported")
    assert "compressed with gzip" in refused.json()["detail"][0]["msg"]


async def test_what_is_no_text_has_no_domain(alice: Person) -> None:
    assert code(await send(alice, bytes(range(256)))) == (422, "column_missing")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"domain\na\0.com\n", "a.com"),
        ("domain\nquay.com\n\u00e4\u00f6.com\n".encode("cp1252"), "quay.com"),
        ("domain\n\u00e4\u00f6.com\n".encode("utf-16"), "xn--4ca0b.com"),
        (b"domain\n=quay.com\n+1.com\n@pier.com\nreef.com\n", "reef.com"),
    ],
)
async def test_the_readable_rows_of_a_file_are_taken(alice: Person, content: bytes, name: str) -> None:
    found = ok(await send(alice, content))
    assert [each["domain"] for each in found["results"] if not each["errors"]] == [name]


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"," * 1_000, (422, "too_many_columns")),
        (b"domain\n" + b"a.com\n" * 10_001, (422, "too_many_rows")),
        (b"a.com\n" * 2_000_000, (413, "body_too_large")),
    ],
    ids=["columns", "rows", "bytes"],
)
async def test_a_file_has_a_maximum_size(alice: Person, content: bytes, refused: tuple[int, str]) -> None:
    assert code(await send(alice, content)) == refused


async def test_a_list_without_a_domain_marks_none_missing(alice: Person) -> None:
    await load(alice, domains=["a.com"], mode="replace_snapshot")
    for empty in (b"\n", b"\0" * 100, b"domain\n", b"nothing here\n"):
        query = {"provider": CORNER, "mode": "replace_snapshot"}
        sent = await alice.post(IMPORT, params=query, content=empty, headers={"Content-Type": "text/csv"})
        assert (ok(sent)["complete"], ok(sent)["missing"]) == (False, 0)
    found = ok(await alice.get(INVENTORY))
    assert (found["items"][0]["missing_since"], found["snapshots"][0]["complete"]) == (None, True)


async def test_a_complete_list_marks_others_missing_and_adds_on_request(alice: Person) -> None:
    rows = [{"domain": f"d{n}.com", "expires_at": f"2027-0{n}-01"} for n in range(1, 5)]
    made = await load(alice, rows=rows, add_to_portfolio=True, mode="replace_snapshot")
    assert (made["added_domains"], made["complete"], made["missing"]) == (4, True, 0)
    assert all(each["id"] for each in made["results"])
    assert sorted(await names(alice)) == ["d1.com", "d2.com", "d3.com", "d4.com"]
    partial = await load(alice, domains=["d1.com", "not a name"], mode="replace_snapshot")
    assert (partial["complete"], partial["missing"]) == (False, 0)  # the refused row may be any of the others
    replaced = await load(alice, domains=["d1.com", "D2.com"], mode="replace_snapshot")
    assert (replaced["missing"], replaced["updated_domains"]) == (2, 0)
    assert await listed(alice, stale=True) == ["d3.com", "d4.com"]
    assert ok(await alice.get(f"{DOMAINS}/d1.com"))["expires_at"] == "2027-01-01T00:00:00Z"
    back = await load(alice, domains=["d3.com"])
    assert back["results"][0]["outcome"] == "updated"
    assert await listed(alice, stale=True) == ["d4.com"]


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({}, (422, "source_count")),
        ({"csv": "a", "domains": ["a.com"]}, (422, "source_count")),
        ({"csv": "expires,locked\n2027-01-01,yes\n"}, (422, "column_missing")),
        ({"domains": ["a.com"], "provider": "porkbun"}, (409, "not_connected")),
        ({"domains": ["a.com"], "provider": "nobody"}, (404, "provider_not_found")),
    ],
    ids=str,
)
async def test_what_cannot_be_imported_is_refused(alice: Person, body: Json, refused: tuple[int, str]) -> None:
    assert code(await alice.post(IMPORT, json={"provider": CORNER, **body})) == refused


async def test_a_list_of_one_of_several_connections_names_it(alice: Person, fakes: FakeServer) -> None:
    for name in ("one", "two"):
        await connect(alice, fake_of("porkbun"), fakes, name=name)
    body = {"provider": "porkbun", "domains": ["a.com"]}
    assert code(await alice.post(IMPORT, json=body)) == (409, "connection_ambiguous")


async def test_a_list_goes_to_the_connection_that_it_names(alice: Person, fakes: FakeServer) -> None:
    made = [await connect(alice, fake_of("porkbun"), fakes, name=name) for name in ("one", "two")]
    imported = await load(alice, domains=["a.com"], provider="porkbun", connection="two")
    assert imported["connection_id"] == str(made[1].id)


async def test_a_list_for_a_registrar_that_is_not_connected_names_another_way(alice: Person) -> None:
    refused = await alice.post(IMPORT, json={"provider": "porkbun", "domains": ["a.com"]})
    assert "`manual:porkbun`" in refused.json()["next_action"]


async def test_a_viewer_sees_no_prices(alice: Person, people: MakePerson) -> None:
    viewer = await people("viewer", preset=Preset.DOMAINER_FULL)
    await join(alice, viewer, "viewer")
    await add(alice, "a.com")
    await load(alice, rows=[{"domain": "a.com", "renewal_price": "12.50"}])
    seen = ok(await viewer.get(INVENTORY, headers=of(alice)))
    assert (seen["items"][0]["renewal_price"], seen["redacted"]) == (None, ["finance"])
    assert ok(await alice.get(INVENTORY))["items"][0]["renewal_price"]["amount"] == "12.50"


async def test_the_inventory_is_read_in_the_turn_of_its_account(alice: Person) -> None:
    async with held_turn(alice.service, alice.account.id):
        refused = await alice.get(INVENTORY, params={"stale": "true"})
    assert code(refused) == (429, "heavy_request_running")


async def read_run(person: Person, imported: Json) -> Json:
    return ok(await person.get(f"{REGISTRARS}/runs/{imported['import_id']}"))


async def test_an_import_is_a_run_with_its_counts_and_changes(alice: Person) -> None:
    await add(alice, "a.com")
    imported = await load(alice, domains=["a.com", "b.com"], add_to_portfolio=True)
    run = await read_run(alice, imported)
    assert (run["kind"], run["state"], run["providers"][0]["connection_id"]) == (
        *("inventory", "completed", imported["connection_id"]),
    )
    counts = run["providers"][0]["counts"]
    assert (counts["seen"], counts["matched"], counts["new"], counts["added"]) == (2, 1, 2, 1)
    assert {(each["domain"], each["field"]) for each in run["changes"]} == {("a.com", "registrar")}


async def test_a_dry_run_of_an_import_is_no_run(alice: Person) -> None:
    imported = await load(alice, domains=["a.com"], dry_run=True)
    assert code(await alice.get(f"{REGISTRARS}/runs/{imported['import_id']}")) == (404, "registrar_run_not_found")


async def test_bob_does_not_see_the_run_of_an_import(alice: Person, bob: Person) -> None:
    imported = await load(alice, domains=["a.com"])
    assert code(await bob.get(f"{REGISTRARS}/runs/{imported['import_id']}")) == (404, "registrar_run_not_found")


async def test_two_imports_of_one_connection_take_turns(alice: Person) -> None:
    await load(alice, domains=["first.com"])
    lists = [[f"{name}-{at}.com" for at in range(300)] for name in ("a", "b")]
    made = await asyncio.gather(*(load(alice, domains=domains, mode="replace_snapshot") for domains in lists))
    # The later one has marked the domains of the other one as missing, and no others.
    assert sorted(each["missing"] for each in made) == [1, 300]
    assert len({each["import_id"] for each in made}) == 2


@pytest.mark.parametrize("registrar", ["manual:corner", "Corner"])
async def test_a_registrar_of_a_row_can_be_the_name_of_its_connection(alice: Person, registrar: str) -> None:
    await load(alice, csv="domain\na.com\n")
    await add(alice, "a.com", registrar=registrar)
    await add(alice, "b.com", registrar="Other")
    findings = ok(await alice.get(f"{REGISTRARS}/reconcile"))["findings"]
    assert [each["category"] for each in findings if each["domain"] == "a.com"] == []

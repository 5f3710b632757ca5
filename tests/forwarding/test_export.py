"""The map of a mail server: all names, or every change, also those that commit late."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta

import psycopg
import pytest

from builders.aliases import claims, confirmations
from builders.aliases.errors import SerialAhead
from builders.aliases.records import SeparatorPolicy
from builders.aliases.rules import key
from builders.forwarding import export
from builders.forwarding.records import MapEntry
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.aliases.make import (
    FREE,
    PROGRAM,
    AliasWorker,
    Owner,
    change,
    fresh,
    fresh_address,
    spec,
    wait_for_horizon,
)
from tests.cast import Client, Person

Changes = list[tuple[str, tuple[str, ...]]]


async def list_entries(database: Database, domain: str, **options: int) -> dict[str, tuple[str, ...]]:
    """Return all entries of a domain."""
    found = [each async for each in export.list_map_entries(database, **options) if each.domain == domain]
    return {each.key: tuple(each.destinations) for each in found if each.destinations}


async def horizon(database: Database, since: int = 0) -> int:
    async with database.connection() as conn:
        return await export.get_horizon(conn, since=since)


async def changes(
    database: Database, domain: str, since: int, *, wait: bool = True, **options: int
) -> tuple[Changes, int]:
    """Return the changes on a domain in sequence, and the start of the next list."""
    if wait:
        await wait_for_horizon(database)
    until = await horizon(database, since)
    found = [each async for each in export.list_map_changes(database, since=since, horizon=until, **options)]
    return [(each.key, tuple(each.destinations)) for each in found if each.domain == domain], until


async def confirm(conn: Conn, owner: Owner, email: str) -> None:
    """Confirm a destination."""
    await confirmations.verify_destination(conn, account_id=owner.account_id, email=email)


async def test_only_active_names_with_confirmed_destinations_are_listed(
    owner: Owner, alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    own, other, third = alice.account.email, fresh_address(), fresh_address()
    await owner.claim(
        spec("ada", domain, other, own, third),
        spec("bob", domain, other),
        spec("off", domain, own, enabled=False),
        spec("stopped", domain, own),
        spec("gone", domain, own),
    )
    mine = await owner.aliases()
    await owner.release(mine["gone"])
    await conn.execute("UPDATE aliases SET status = 'suspended' WHERE id = %s", [mine["stopped"].id])
    assert await list_entries(database, domain) == {"ada": (own,)}
    await confirm(conn, owner, third)
    assert await list_entries(database, domain) == {"ada": (own, third)}


async def test_a_paused_name_is_not_listed_and_the_end_of_its_pause_is_a_change(
    owner: Owner, alice: Person, database: Database, domain: str
) -> None:
    until = clock.now() + timedelta(days=1)
    await owner.claim_one("ada", domain, alice.account.email, pause_until=until)
    assert await list_entries(database, domain) == {}
    found, since = await changes(database, domain, 0)
    assert found == [("ada", ())]
    clock.move(timedelta(days=1))
    assert await list_entries(database, domain) == {"ada": (alice.account.email,)}
    async with database.transaction() as conn:
        assert await claims.end_pauses(conn)
        assert not await claims.end_pauses(conn)
    assert (await changes(database, domain, since))[0] == [("ada", (alice.account.email,))]


async def test_names_of_sandboxes_are_not_listed(
    alice: Person, owner: Owner, database: Database, domain: str
) -> None:
    since = await horizon(database)
    await Owner.of_sandbox(database, alice).claim_one("ada", domain, fresh_address())
    assert await list_entries(database, domain) == {}
    await owner.claim_one("ada", domain, alice.account.email)
    sandbox = Owner.of_sandbox(database, alice)
    await sandbox.release((await sandbox.aliases())["ada"])
    assert (await changes(database, domain, since))[0] == [("ada", (alice.account.email,))]


async def test_each_change_is_listed_once(
    owner: Owner, alice: Person, database: Database, worker: AliasWorker, anyone: Client, domain: str
) -> None:
    own, other = alice.account.email, fresh_address()
    since = await horizon(database)
    await owner.claim(spec("ada", domain, own), spec("bob", domain, other))
    listed, since = await changes(database, domain, since)
    assert listed == [("ada", (own,)), ("bob", ())]
    assert (await changes(database, domain, since))[0] == []
    await anyone.get(
        "/v1/aliases/destinations/confirm", params={"token": await worker.token(other)}, headers=PROGRAM
    )
    listed, since = await changes(database, domain, since)
    assert listed == [("bob", (other,))]
    await owner.update(change((await owner.aliases())["bob"], enabled=False))
    listed, since = await changes(database, domain, since)
    assert listed == [("bob", ())]
    await owner.release((await owner.aliases())["ada"])
    listed, since = await changes(database, domain, since)
    assert listed == [("ada", ())]


async def test_a_name_that_was_released_and_claimed_again_is_listed_in_its_current_state(
    owner: Owner, alice: Person, database: Database, domain: str
) -> None:
    own, since = alice.account.email, await horizon(database)
    await owner.claim_one("ada", domain, own, price=FREE)
    await owner.release((await owner.aliases())["ada"])
    await owner.claim_one("ada", domain, own, price=FREE)
    assert (await changes(database, domain, since))[0] == [("ada", (own,))]


async def test_a_late_commit_with_an_early_serial_is_not_missed(
    owner: Owner, alice: Person, bob: Person, database: Database, conninfo: str, domain: str
) -> None:
    own, since = alice.account.email, await horizon(database)
    early, late = spec("early", domain, own), spec("late", fresh(), bob.account.email)
    async with database.transaction() as slow:
        await claims.create_aliases(slow, account_id=owner.account_id, specs=[early])
        await Owner.of(database, bob).claim(late)
        listed, middle = await changes(database, late.domain, since, wait=False)
        assert listed == []  # not yet: a list that continues after its later serial would miss the other one
    with psycopg.connect(conninfo) as check:
        row = check.execute(
            "SELECT id, serial FROM aliases WHERE id = ANY(%s) ORDER BY serial", [[early.id, late.id]]
        )
        assert [each[0] for each in row.fetchall()] == [early.id, late.id]
    assert (await changes(database, domain, middle))[0] == [("early", (own,))]
    assert (await changes(database, late.domain, middle))[0] == [("late", (bob.account.email,))]


async def test_a_transaction_that_writes_early_and_claims_late_is_not_missed(
    owner: Owner, alice: Person, bob: Person, database: Database, domain: str
) -> None:
    own, other, since = alice.account.email, fresh(), await horizon(database)
    async with database.transaction() as slow:
        await slow.execute("SELECT pg_current_xact_id()")  # the older transaction
        await Owner.of(database, bob).claim_one("quick", other, bob.account.email)
        listed, since = await changes(database, other, since, wait=False)
        assert listed == []
        await claims.create_aliases(slow, account_id=owner.account_id, specs=[spec("slow", domain, own)])
    assert (await changes(database, domain, since))[0] == [("slow", (own,))]
    assert (await changes(database, other, since))[0] == [("quick", (bob.account.email,))]


async def test_the_serial_of_another_database_is_refused(database: Database) -> None:
    with pytest.raises(SerialAhead):
        await horizon(database, since=await horizon(database) + 1_000_000_000)


async def test_more_than_one_page_is_listed_completely(
    owner: Owner, alice: Person, database: Database, domain: str
) -> None:
    since = await horizon(database)
    await owner.claim(*(spec(f"crew{at:04}", domain, alice.account.email) for at in range(25)))
    listed = await list_entries(database, domain, page_size=7)
    assert sorted(listed) == [f"crew{at:04}" for at in range(25)]
    assert sorted((await changes(database, domain, since, page_size=7))[0]) == sorted(listed.items())


def entry(local_part: str, domain: str, policy: SeparatorPolicy) -> MapEntry:
    owner = spec("ada", domain)
    return MapEntry(
        account_id=owner.id,
        id=owner.id,
        domain=domain,
        key=key(local_part, policy),
        local_part=local_part,
        destinations=["a@example.net", "b@example.net"],
    )


def look_up(recipient: str, table: Mapping[str, str], lines: Iterable[str]) -> str | None:
    """Look up as Postfix does: the address, then without its extension; `pipemap` looks up twice."""
    local_part, at, domain = recipient.partition("@")
    return (
        table.get(recipient)
        or table.get(rewritten(recipient, lines) or "")
        or table.get(f"{local_part.partition('+')[0]}{at}{domain}")
    )


def rewritten(recipient: str, lines: Iterable[str]) -> str | None:
    """Return the result of a pcre table (pcre_table(5))."""
    inside = True
    for line in lines:
        if line.startswith("if "):
            inside = re.search(line[4:-1], recipient, re.IGNORECASE) is not None
        elif line == "endif":
            inside = True
        elif inside:
            pattern, _, result = line.rpartition(" ")
            if found := re.search(pattern[1:-1], recipient, re.IGNORECASE):
                return found.expand(re.sub(r"\$\{(\d+)\}", r"\\g<\1>", result))
    return None


IGNORE_DOTS, IGNORE_ALL, DISTINCT = (
    SeparatorPolicy.IGNORE_DOTS,
    SeparatorPolicy.IGNORE_ALL,
    SeparatorPolicy.DISTINCT,
)
WRITTEN = ["janedoe", "jane.doe", "j.a.n.e.d.o.e", "jane-doe", "jane_d.oe", "jane.doe+a.b", "janedoe+x", "jane.do"]
WITH_DOTS = ["janedoe", "jane.doe", "j.a.n.e.d.o.e", "jane.doe+a.b", "janedoe+x"]
WITH_ANY = ["janedoe", "jane.doe", "j.a.n.e.d.o.e", "jane-doe", "jane_d.oe", "jane.doe+a.b", "janedoe+x"]


@pytest.mark.parametrize(
    ("policy", "claimed", "delivered"),
    [
        pytest.param(IGNORE_DOTS, "janedoe", WITH_DOTS, id="dots are ignored in what is written"),
        pytest.param(IGNORE_DOTS, "jane.doe", WITH_DOTS, id="dots are ignored in the name"),
        pytest.param(IGNORE_DOTS, "jane-doe", ["jane-doe"], id="a hyphen counts where dots are ignored"),
        pytest.param(IGNORE_ALL, "janedoe", WITH_ANY, id="separators are ignored in what is written"),
        pytest.param(IGNORE_ALL, "jane.doe", WITH_ANY, id="a dot is ignored in the name"),
        pytest.param(IGNORE_ALL, "jane-doe", WITH_ANY, id="a hyphen is ignored in the name"),
        pytest.param(DISTINCT, "janedoe", ["janedoe", "janedoe+x"], id="distinct: no separator"),
        pytest.param(DISTINCT, "jane.doe", ["jane.doe", "jane.doe+a.b"], id="distinct: a dot"),
        pytest.param(DISTINCT, "jane-doe", ["jane-doe"], id="distinct: a hyphen"),
    ],
)
def test_postfix_finds_every_spelling_of_a_name(
    policy: SeparatorPolicy, claimed: str, delivered: list[str]
) -> None:
    domain = "harbour.example"
    table = dict(line.split(" ", 1) for line in export.format_map_entry(entry(claimed, domain, policy)))
    lines = list(export.format_spelling_rules(policy, ["pixel.example", domain]))
    found = {written: look_up(f"{written}@{domain}", table, lines) for written in WRITTEN}
    assert [written for written in WRITTEN if found[written]] == delivered
    assert {found[written] for written in delivered} == {"a@example.net, b@example.net"}


@pytest.mark.parametrize("policy", [IGNORE_DOTS, IGNORE_ALL])
def test_a_name_with_the_most_separators_has_a_rule(policy: SeparatorPolicy) -> None:
    lines = list(export.format_spelling_rules(policy, ["harbour.example"]))
    longest = ".".join("a" * 32)
    assert rewritten(f"{longest}+x@harbour.example", lines) == f"{'a' * 32}@harbour.example"


def test_rules_apply_only_to_their_domains() -> None:
    domains = [f"harbour{at}.example" for at in range(120)]
    lines = list(export.format_spelling_rules(IGNORE_DOTS, domains))
    assert rewritten("jane.doe@harbour119.example", lines) == "janedoe@harbour119.example"
    for other in ("harbour1xexample", "sub.harbour1.example", "harbour1.example.net", "example.net"):
        assert rewritten(f"jane.doe@{other}", lines) is None
    assert list(export.format_spelling_rules(DISTINCT, domains)) == []
    assert list(export.format_spelling_rules(IGNORE_ALL, [])) == []


def test_a_name_without_destinations_has_no_line() -> None:
    name = entry("ada", "harbour.example", DISTINCT)
    nowhere = MapEntry(
        account_id=name.id, id=name.id, domain=name.domain, key="ada", local_part="ada", destinations=[]
    )
    assert list(export.format_map_entry(nowhere)) == []
    assert list(export.format_map_entry(name)) == ["ada@harbour.example a@example.net, b@example.net"]

"""Batches of checks: by the catalog's rules, in the sandbox's own realm."""

from pathlib import Path

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.sandbox import service as sandbox
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.sandbox.make import Domains, alias, apply, fresh
from tests.sandbox.simulating import ask, refused, rows_of, simulate
from tests.sandbox.test_statements import Wire


async def check(client: Client, *addresses: str) -> list[tuple[str, bool, str]]:
    """Address, whether it is available, and the reason."""
    found = await simulate(client, type="check", addresses=list(addresses))
    return [(each["address"], each["available"], each["reason"]) for each in found["results"]]


async def test_each_name_is_judged_in_the_order_of_the_question(
    alice: Person, domains: Domains, domain: str
) -> None:
    soon = await domains(status="coming_soon")
    asked = {
        f"Ada.Lovelace@{domain.upper()}": "ok",
        f"postmaster@{domain}": "reserved",
        f"-x@{domain}": "invalid",
        f"ada@{soon}": "domain_not_live",
        f"ada@{fresh()}": "domain_unknown",
        "no address": "invalid",
        f"ada@{domain}": "ok",
    }
    answered = await check(alice, *asked)

    assert answered == [(address, reason == "ok", reason) for address, reason in asked.items()]


async def test_a_free_name_comes_with_its_normal_form_and_price_a_refused_one_with_why(
    alice: Person, domain: str
) -> None:
    found = await simulate(alice, type="check", addresses=[f"Ada@{domain}", f"postmaster@{domain}"])
    free, reserved = found["results"]

    assert free["normalized"] == f"ada@{domain}"
    assert free["price"] == {"amount": "12.00", "currency": "USD", "interval": "year"}
    assert free["message"] == ""
    assert reserved["message"]


async def test_who_has_a_live_name_is_neither_asked_nor_told(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"ada@{domain}"))
    await apply(alice, alias(f"eve@{domain}"))

    assert [reason for *_, reason in await check(alice, f"ada@{domain}", f"eve@{domain}")] == ["ok", "ok"]


async def test_it_says_what_the_catalogs_own_check_says(alice: Person, service: Service, domain: str) -> None:
    await catch_up(service.api.state.catalog)
    names = ["ada", "a+b", "postmaster", "x..y", "admin", "ada-", "é"]
    found = await simulate(alice, type="check", addresses=[f"{each}@{domain}" for each in names])

    for name, ours in zip(names, found["results"], strict=True):
        theirs = (await alice.get("/v1/catalog/check", params={"local_part": name, "domain": domain})).json()
        assert {each: ours[each] for each in ("available", "reason", "message")} == {
            each: theirs[each] for each in ("available", "reason", "message")
        }


async def test_names_on_the_sandboxs_own_domain_are_free_of_charge(alice: Person) -> None:
    own = fresh("own")
    added = await alice.test.post("/v1/domains", json={"domain": own})
    assert (await alice.test.post(f"/v1/domains/{added.json()['id']}/verify")).status_code == 200
    found = await simulate(alice, type="check", addresses=[f"ada@{own}"])

    assert found["results"][0]["available"] is True
    assert found["results"][0]["price"]["amount"] == "0.00"


async def test_nothing_is_written(alice: Person, conn: Conn, domain: str) -> None:
    before = await rows_of(conn, alice.account.id), await rows_of(conn, alice.account.sandbox_id)
    await check(alice, f"ada@{domain}")

    assert (await rows_of(conn, alice.account.id), await rows_of(conn, alice.account.sandbox_id)) == before


async def test_fifty_at_most_and_one_at_least(alice: Person, domain: str) -> None:
    assert refused(await ask(alice, type="check", addresses=[])) == {("body.addresses", "too_short")}
    many = [f"crew{at}@{domain}" for at in range(51)]
    assert refused(await ask(alice, type="check", addresses=many)) == {("body.addresses", "too_long")}
    assert len(await check(alice, *many[:50])) == 50


async def test_fifty_are_as_many_statements_as_one(alice: Person, conn: Conn, domain: str, tmp_path: Path) -> None:
    wire, counted = Wire(tmp_path / "trace"), []
    for count in (1, 50):
        with wire.watched(conn):
            addresses = [f"crew{at}@{domain}" for at in range(count)]
            await sandbox.check_names(conn, account_id=alice.account.id, addresses=addresses)
        counted.append(wire.statements())

    assert counted == [4, 4]

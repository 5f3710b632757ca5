"""Checks by the rules of the catalog, in the realm of the sandbox account."""

from pathlib import Path

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.plans import simulation
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.plans.make import Domains, alias, apply, unique_domain
from tests.plans.simulations import count_rows, list_errors, request_simulation, simulate
from tests.wire import counted


async def check(client: Client, *addresses: str) -> list[tuple[str, bool, str]]:
    """Return address, availability and reason of each check."""
    found = await simulate(client, type="check", addresses=list(addresses))
    return [(each["address"], each["available"], each["reason"]) for each in found["results"]]


async def test_results_follow_the_sequence_of_the_request(alice: Person, domains: Domains, domain: str) -> None:
    soon = await domains(status="coming_soon")
    asked = {
        f"Ada.Lovelace@{domain.upper()}": "ok",
        f"postmaster@{domain}": "reserved",
        f"-x@{domain}": "invalid",
        f"ada@{soon}": "domain_not_live",
        f"ada@{unique_domain()}": "domain_unknown",
        "no address": "invalid",
        f"ada@{domain}": "ok",
    }
    answered = await check(alice, *asked)

    assert answered == [(address, reason == "ok", reason) for address, reason in asked.items()]


async def test_a_free_name_has_a_price_and_a_refused_name_a_message(alice: Person, domain: str) -> None:
    found = await simulate(alice, type="check", addresses=[f"Ada@{domain}", f"postmaster@{domain}"])
    free, reserved = found["results"]

    assert free["normalized"] == f"ada@{domain}"
    assert free["price"] == {"amount": "12.00", "currency": "USD", "interval": "year"}
    assert free["message"] == ""
    assert reserved["message"]


async def test_live_names_do_not_affect_the_check(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"ada@{domain}"))
    await apply(alice, alias(f"eve@{domain}"))

    assert [reason for *_, reason in await check(alice, f"ada@{domain}", f"eve@{domain}")] == ["ok", "ok"]


async def test_the_check_equals_the_check_of_the_catalog(alice: Person, service: Service, domain: str) -> None:
    await catch_up(service.api.state.catalog)
    names = ["ada", "a+b", "postmaster", "x..y", "admin", "ada-", "é"]
    found = await simulate(alice, type="check", addresses=[f"{each}@{domain}" for each in names])

    for name, ours in zip(names, found["results"], strict=True):
        theirs = (await alice.get("/v1/catalog/check", params={"local_part": name, "domain": domain})).json()
        assert {each: ours[each] for each in ("available", "reason", "message")} == {
            each: theirs[each] for each in ("available", "reason", "message")
        }


async def test_names_on_a_sandbox_account_domain_are_free(alice: Person) -> None:
    own = unique_domain("own")
    added = await alice.test.post("/v1/domains", json={"domain": own})
    assert (await alice.test.post(f"/v1/domains/{added.json()['id']}/verify")).status_code == 200
    found = await simulate(alice, type="check", addresses=[f"ada@{own}"])

    assert found["results"][0]["available"] is True
    assert found["results"][0]["price"]["amount"] == "0.00"


async def test_nothing_is_written(alice: Person, conn: Conn, domain: str) -> None:
    before = await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)
    await check(alice, f"ada@{domain}")

    assert (await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)) == before


async def test_a_check_has_one_to_fifty_addresses(alice: Person, domain: str) -> None:
    assert list_errors(await request_simulation(alice, type="check", addresses=[])) == {
        ("body.addresses", "too_short")
    }
    many = [f"name{at}@{domain}" for at in range(51)]
    assert list_errors(await request_simulation(alice, type="check", addresses=many)) == {
        ("body.addresses", "too_long")
    }
    assert len(await check(alice, *many[:50])) == 50


async def test_the_number_of_statements_does_not_depend_on_the_number_of_addresses(
    alice: Person, conn: Conn, domain: str, tmp_path: Path
) -> None:
    counts = []
    for count in (1, 50):
        with counted(conn, tmp_path / "wire") as sent:
            addresses = [f"name{at}@{domain}" for at in range(count)]
            await simulation.check_names(conn, account_id=alice.account.id, addresses=addresses)
        counts += sent

    assert counts == [4, 4]

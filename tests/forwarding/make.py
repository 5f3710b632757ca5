"""What several tests of forwarding create."""

from builders.app import Service
from builders.forwarding import lookup_checks
from builders.kit.db.connections import Database
from tests.cast import Person
from tests.domains.make import PATH, assign


async def list_wrong(database: Database) -> list[str]:
    """Return the addresses of which mail servers are told something wrong."""
    return await lookup_checks.list_wrong(database)


async def tell(database: Database) -> None:
    """Let mail servers be told what the test wrote into tables."""
    await lookup_checks.repair(database, addresses=await list_wrong(database))
    assert await list_wrong(database) == []


async def set_catch_all(person: Person, service: Service, domain: str, destination: str) -> None:
    """Let a person forward all mail of a domain."""
    held = await assign(service, person, domain)
    answer = await person.patch(f"{PATH}/{held.id}", json={"catch_all": True, "default_destination": destination})
    assert answer.status_code == 200, answer.text

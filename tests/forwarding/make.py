"""What several tests of forwarding create."""

from builders.app import Service
from tests.cast import Person
from tests.domains.make import PATH, assign


async def set_catch_all(person: Person, service: Service, domain: str, destination: str) -> None:
    """Let a person forward all mail of a domain."""
    held = await assign(service, person, domain)
    answer = await person.patch(f"{PATH}/{held.id}", json={"catch_all": True, "default_destination": destination})
    assert answer.status_code == 200, answer.text

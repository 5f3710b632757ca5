from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from builders.kit.events import outbox
from tests.cast import Client, Person
from tests.conftest import MakePerson

PATH = "/v1/portfolio/webhooks/catalog"


class Counted(BaseModel):
    """The data of an event."""

    n: int = 1


@pytest.fixture
def _later() -> Iterator[None]:
    """Events of packages that do not exist yet."""
    before = dict(outbox._registry)
    for name in ("portfolio_domain.added", "renewal.due", "team.member_joined", "shop.opened"):
        outbox.declare(name=name, description="Later.", data=Counted)
    outbox.declare(name="parking.counted", description="Hush.", data=Counted, internal=True)
    yield
    outbox._registry.clear()
    outbox._registry.update(before)


async def names(client: Client) -> set[str]:
    answer = await client.get(PATH)
    assert answer.status_code == 200
    return {each["name"] for each in answer.json()["items"]}


async def test_it_has_what_happens_to_the_account_and_nothing_of_builders(dana: Person) -> None:
    found = await names(dana)

    assert {"api_key.created", "webhook.disabled"} <= found
    assert not {each for each in found if each.partition(".")[0] in {"alias", "promotion", "plan", "project"}}


@pytest.mark.usefixtures("_later")
async def test_the_events_of_a_new_package_are_listed_without_a_change(dana: Person) -> None:
    found = await names(dana)

    assert {"portfolio_domain.added", "renewal.due", "team.member_joined"} <= found
    assert not {"shop.opened", "parking.counted"} & found


async def test_each_has_a_schema_and_a_whole_payload(dana: Person) -> None:
    for each in (await dana.get(PATH)).json()["items"]:
        assert each["example"]["type"] == each["name"]
        assert each["data_schema"]["type"] == "object"


async def test_a_developers_key_lacks_the_scope(people: MakePerson, anyone: Client) -> None:
    builder = await people("builder")
    answer = await builder.get(PATH)

    assert (answer.status_code, answer.json()["scope"]) == (403, "portfolio:read")
    assert (await anyone.get(PATH)).status_code == 401

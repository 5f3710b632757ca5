from collections.abc import Iterator

import jsonschema_rs
import pytest
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from builders.kit.events import outbox
from tests.cast import Client, Person

PATH = "/v1/notifications/events"


class Data(BaseModel):
    """Data of a test event."""

    n: int = 1


@pytest.fixture
def _declared() -> Iterator[None]:
    before = dict(outbox._registry)
    outbox.declare(name="thing.updated", version=2, description="A thing was updated.", data=Data)
    outbox.declare(name="thing.hushed", description="Hush.", data=Data, internal=True)
    yield
    outbox._registry.clear()
    outbox._registry.update(before)


async def test_every_public_event_is_listed_by_name_with_its_area(alice: Person) -> None:
    items = (await alice.get(PATH)).json()["items"]

    names = [each["name"] for each in items]
    assert names == sorted(names)
    assert {"alias.created", "api_key.created", "promotion.completed", "webhook.disabled"} <= set(names)
    assert not {event.name for event in outbox.list_events() if event.internal} & set(names)
    assert {each["area"] for each in items if each["name"].startswith("alias.")} == {"alias"}


async def test_every_example_is_a_whole_payload_that_its_schema_allows(alice: Person) -> None:
    for each in (await alice.get(PATH)).json()["items"]:
        example = each["example"]
        assert list(example) == ["id", "type", "timestamp", "account_id", "livemode", "data"]
        assert example["type"] == each["name"]
        validator = jsonschema_rs.validator_for(each["data_schema"])
        assert [error.message for error in validator.iter_errors(example["data"])] == []
        assert each["data_schema"]["properties"].keys() >= example["data"].keys()


@pytest.mark.usefixtures("_declared")
async def test_an_event_has_its_version_and_an_internal_one_is_not_listed(alice: Person) -> None:
    items = {each["name"]: each for each in (await alice.get(PATH)).json()["items"]}

    assert "thing.hushed" not in items
    assert items["thing.updated"]["version"] == 2
    assert items["thing.updated"]["example"]["data"] == {"n": 1}


async def test_both_presets_are_allowed_and_no_credentials_are_401(dana: Person, anyone: Client) -> None:
    assert (await dana.get(PATH)).status_code == 200
    assert (await dana.test.get(PATH)).status_code == 200
    assert (await anyone.get(PATH)).status_code == 401


async def test_the_schemas_are_written_once(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    first = (await alice.get(PATH)).json()["items"]
    written = list[str]()
    monkeypatch.setattr(GenerateJsonSchema, "generate", lambda self, *_: written.append(type(self).__name__))

    again = (await alice.get(PATH)).json()["items"]

    assert written == []
    assert again == first

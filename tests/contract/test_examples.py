"""Examples of bodies, replies and events, which the packages have as data."""

from typing import Any

from builders.kit.events import outbox
from docs.examples import add_examples, read_examples
from tests.published import published


def test_each_example_is_of_a_model_in_the_document_or_of_an_event() -> None:
    events = {each.name for each in outbox.list_events() if not each.internal}
    assert sorted(read_examples().keys() - published().document["components"]["schemas"].keys() - events) == []


def test_a_required_member_that_an_example_lacks_is_empty() -> None:
    properties: dict[str, Any] = {
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "ports": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "name": {"type": "string"},
        "berth": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    boat = {"properties": properties, "required": ["note", "ports", "labels", "name"]}

    add_examples({"Boat": boat}, {"Boat": [{"name": "Ada"}, {"name": "Ida", "note": "new"}]})

    assert boat["examples"] == [
        {"note": None, "ports": [], "labels": {}, "name": "Ada"},
        {"note": "new", "ports": [], "labels": {}, "name": "Ida"},
    ]


def test_the_answer_to_a_change_has_the_examples_of_the_record() -> None:
    found = read_examples()

    assert found["ProjectWritten"] == [{**each, "warnings": []} for each in found["ProjectReply"]]

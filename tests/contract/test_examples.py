"""Examples of bodies, replies and events, which the packages have as data."""

from builders.kit.events import outbox
from docs.document import read_examples
from tests.published import published


def test_each_example_is_of_a_model_in_the_document_or_of_an_event() -> None:
    events = {each.name for each in outbox.list_events() if not each.internal}
    assert sorted(read_examples().keys() - published().document["components"]["schemas"].keys() - events) == []

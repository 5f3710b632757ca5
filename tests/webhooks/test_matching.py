"""Event names and patterns that a destination can list, and what they match."""

from collections.abc import Iterator, Mapping

import pytest
from pydantic import BaseModel

from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.webhooks import catalog


class Data(BaseModel):
    """The data of a test event."""

    n: int = 1


@pytest.fixture
def register() -> Iterator[Mapping[str, Event]]:
    """Declare events for a test, and remove them afterwards."""
    before = dict(outbox._registry)
    yield outbox._registry
    outbox._registry.clear()
    outbox._registry.update(before)


def declare(name: str, *, internal: bool = False) -> None:
    outbox.register(Event(name=name, version=1, description=name, data=Data, internal=internal))


@pytest.mark.parametrize(
    ("wanted", "name", "does"),
    [
        pytest.param(["*"], "alias.created", True, id="all"),
        pytest.param(["alias.*"], "alias.created", True, id="a group"),
        pytest.param(["alias.created"], "alias.created", True, id="a name"),
        pytest.param(["invoice.paid", "alias.created"], "alias.created", True, id="one of two names"),
        pytest.param(["alias.deleted"], "alias.created", False, id="another name"),
        pytest.param(["alias.*"], "aliases.created", False, id="a group whose name begins equally"),
        pytest.param(["portfolio_domain.*"], "portfolio_domain.added", True, id="a group with an underscore"),
        pytest.param(["alias"], "alias.created", False, id="a group without its asterisk"),
        pytest.param([], "alias.created", False, id="nothing"),
    ],
)
def test_a_destination_subscribes_to_what_it_lists(wanted: list[str], name: str, *, does: bool) -> None:
    assert catalog.is_subscribed(wanted, name) is does


@pytest.mark.usefixtures("register")
def test_names_areas_and_the_star_are_valid() -> None:
    declare("thing.told")
    assert catalog.event_errors(["thing.told", "thing.*", "*", "alias.created", "alias.*"]) == []


def test_events_of_the_specification_are_valid_before_they_are_published() -> None:
    assert catalog.event_errors(["alias.created", "onboarding.completed", "invoice.paid", "invoice.*"]) == []


@pytest.mark.usefixtures("register")
def test_an_internal_event_is_unknown() -> None:
    declare("hush.told", internal=True)
    refused = catalog.event_errors(["hush.told", "hush.*", "never.was"])
    assert [each["loc"] for each in refused] == [("body", "events", at) for at in range(3)]
    assert "hush" not in str(refused[2:])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("alias.creatd", "alias.created"),
        ("alias_created", "alias.created"),
        ("Alias.Created", "alias.created"),
        ("invoice.payed", "invoice.paid"),
        ("alias*", "alias.*"),
        ("alias.", "alias.*"),
    ],
)
def test_a_misspelled_name_gets_a_suggestion(name: str, meant: str) -> None:
    (refused,) = catalog.event_errors([name])
    assert refused["did_you_mean"] == meant
    assert f"Did you mean '{meant}'?" in refused["msg"]


@pytest.mark.parametrize("name", ["", "x" * 100_000, "**", "*.*", "*.created", "alias.*.*", " alias.created"])
def test_no_other_pattern_is_valid(name: str) -> None:
    assert len(catalog.event_errors([name])) == 1

"""Which names a destination may list, and which events they mean."""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.webhooks import catalog


class Told(BaseModel):
    """What an event says."""

    n: int = 1


@pytest.fixture
def register() -> Iterator[Mapping[str, Event]]:
    """The register with events that tests declare, which are forgotten afterwards."""
    before = dict(outbox._registry)
    yield outbox._registry
    outbox._registry.clear()
    outbox._registry.update(before)


def declare(name: str, *, internal: bool = False) -> None:
    outbox.declare(Event(name=name, version=1, description=name, example=Told(), internal=internal))


@pytest.mark.parametrize(
    ("wanted", "name", "does"),
    [
        (["*"], "alias.created", True),
        (["alias.*"], "alias.created", True),
        (["alias.created"], "alias.created", True),
        (["invoice.paid", "alias.created"], "alias.created", True),
        (["alias.deleted"], "alias.created", False),
        (["alias.*"], "aliases.created", False),
        (["portfolio_domain.*"], "portfolio_domain.added", True),
        (["alias"], "alias.created", False),
        ([], "alias.created", False),
    ],
)
def test_a_destination_wants_what_it_lists(wanted: list[str], name: str, *, does: bool) -> None:
    assert catalog.is_subscribed(wanted, name) is does


@pytest.mark.usefixtures("register")
def test_names_areas_and_the_star_are_good() -> None:
    declare("thing.told")
    assert catalog.event_errors(["thing.told", "thing.*", "*", "alias.created", "alias.*"]) == []


def test_what_the_specification_names_is_good_before_its_room_is_built() -> None:
    assert catalog.event_errors(["alias.created", "onboarding.completed", "invoice.paid", "invoice.*"]) == []


@pytest.mark.usefixtures("register")
def test_an_internal_event_is_as_unknown_as_any() -> None:
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
def test_a_slip_is_told_what_was_probably_meant(name: str, meant: str) -> None:
    (refused,) = catalog.event_errors([name])
    assert refused["did_you_mean"] == meant
    assert f"Did you mean '{meant}'?" in refused["msg"]


@pytest.mark.parametrize("name", ["", "x" * 100_000, "**", "*.*", "*.created", "alias.*.*", " alias.created"])
def test_no_other_form_is_good(name: str) -> None:
    assert len(catalog.event_errors([name])) == 1


@given(st.lists(st.sampled_from(["*", "alias.*", "alias.created", "invoice.paid", "webhook.deleted"])))
def test_doubles_are_dropped_and_nothing_else(wanted: list[str]) -> None:
    kept = catalog.unique_names(wanted)
    assert len(kept) == len(set(kept))
    for name in ("alias.created", "alias.deleted", "invoice.paid", "webhook.deleted"):
        assert catalog.is_subscribed(kept, name) is catalog.is_subscribed(wanted, name)

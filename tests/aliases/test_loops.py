"""Forwarding loops of any form are found, and nothing else."""

from hypothesis import given, strategies as st

from builders.aliases.loops import Routes, list_looping_names, map_routes
from builders.aliases.records import Alias, AliasStatus, Name, SeparatorPolicy
from builders.aliases.rules import key
from builders.kit.values import clock, ids

NAMES = [Name("harbour.example", each) for each in "abcdefgh"]
graphs = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3))


def loops_back(routes: Routes, start: Name) -> bool:
    """Return whether mail to a name can be forwarded more often than there are names."""
    ahead = {start}
    for _ in range(len(NAMES) + 1):
        ahead = {each for name in ahead for each in routes.get(name, ())}
    return bool(ahead)


@given(graphs)
def test_the_looping_names_are_those_whose_mail_never_arrives(routes: dict[Name, list[Name]]) -> None:
    found = list_looping_names(routes)
    assert found == {name for name in NAMES if loops_back(routes, name)}


@given(graphs, st.sampled_from(NAMES))
def test_a_loop_without_one_of_its_names_is_no_loop(routes: dict[Name, list[Name]], name: Name) -> None:
    open_ended = {**routes, name: []}
    assert name not in list_looping_names(open_ended)
    assert list_looping_names(open_ended) <= list_looping_names(routes) | {name}


def alias(local_part: str, policy: SeparatorPolicy, *destinations: str) -> Alias:
    return Alias(
        enabled=True,
        id=ids.new(),
        domain="harbour.example",
        local_part=local_part,
        key=key(local_part, policy),
        manifest=None,
        manifest_key=None,
        status=AliasStatus.ACTIVE,
        note=None,
        labels={},
        destinations=destinations,
        version=1,
        claimed_at=clock.now(),
        updated_at=clock.now(),
    )


spelled = st.from_regex(r"[a-c](?:[._-]?[a-c]){0,4}", fullmatch=True)
policies = st.sampled_from(list(SeparatorPolicy))


@given(spelled, spelled, policies)
def test_a_spelling_of_a_name_is_a_route_to_it(name: str, written: str, policy: SeparatorPolicy) -> None:
    itself = alias(name, policy, f"{written}+tag@harbour.example")
    if key(written, policy) == itself.key:
        assert list_looping_names(map_routes([itself])) == {itself.name}


@given(spelled, spelled, policies)
def test_an_address_that_no_policy_equates_with_the_name_is_another(
    name: str, written: str, policy: SeparatorPolicy
) -> None:
    itself = alias(name, policy, f"{written}@harbour.example")
    possible = [each for each in SeparatorPolicy if key(name, each) == itself.key]
    if all(key(written, each) != itself.key for each in possible):
        assert map_routes([itself]) == {itself.name: ()}


def test_the_same_local_part_on_another_domain_is_another_name() -> None:
    itself = alias("ada", SeparatorPolicy.DISTINCT, "ada@pixel.example")
    assert list_looping_names(map_routes([itself])) == set()

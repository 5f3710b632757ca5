"""Random histories through HTTP: two accounts plan and promote, and the registry stays consistent."""

from collections import Counter

from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.plans.records import Manifest
from tests.conftest import MakePerson
from tests.plans.make import Domains, Json, alias, list_events, manifest, plan, promote, promotion_request
from tests.plans.strategies import DOMAINS, manifests
from tests.random_cases import cases

histories = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["one", "two"]), manifests()), max_size=6)
SKELETONS = """
    SELECT domain, skeleton, names FROM aliases_skeletons WHERE domain = ANY(%s) AND names > 0
"""
NAMES = "SELECT domain, skeleton, key, account_id, state FROM aliases_names WHERE domain = ANY(%s)"
LIVE = "SELECT domain, key, account_id FROM aliases WHERE domain = ANY(%s) AND status <> 'deleted'"


@cases(4)
@given(histories)
async def test_every_history_leaves_a_consistent_registry(
    people: MakePerson, domains: Domains, conn: Conn, history: list[tuple[str, str, Manifest]]
) -> None:
    here = {domain: await domains() for domain in DOMAINS}
    persons = {"a": await people("alice"), "b": await people("bob")}
    for who, name, wanted in history:
        person, body = persons[who], written(wanted, name, here)
        planned = await plan(person, *body["resources"]["aliases"], **members(body))
        if planned["status"] == "blocked":
            continue
        promotion = await promote(person, planned)
        assert promotion["status"] == "succeeded", (promotion, promotion_request(planned))
        again = await plan(person, *body["resources"]["aliases"], **members(body))
        assert again["status"] == "empty", again

    ours = [[*here.values()]]
    names = await (await conn.execute(NAMES, ours)).fetchall()
    live = await (await conn.execute(LIVE, ours)).fetchall()
    names_alike = await (await conn.execute(SKELETONS, ours)).fetchall()
    assert {(row[0], row[2], row[3]) for row in names if row[4] == "claimed"} == {*live}
    assert {row[4] for row in names} <= {"claimed", "quarantined"}
    assert {(row[0], row[1]): row[2] for row in names_alike} == Counter((row[0], row[1]) for row in names)
    for person in persons.values():
        published = Counter(name for name, _ in await list_events(conn, person))
        held = sum(row[2] == person.account.id for row in live)
        assert published["alias.created"] - published["alias.deleted"] == held


def written(wanted: Manifest, name: str, here: dict[str, str]) -> Json:
    """Return the request body of a manifest on the domains of this test."""

    def moved(text: str) -> str:
        for domain, other in here.items():
            text = text.replace(domain, other)
        return text

    desired = [
        alias(
            moved(f"{desired.local_part}@{desired.domain}"),
            *map(moved, desired.destinations),
            key=desired.key,
            enabled=desired.enabled,
            note=desired.note,
            labels=dict(desired.labels),
        )
        for desired in wanted.aliases
    ]
    return manifest(desired, name=name, prune=wanted.prune, on_conflict=wanted.on_conflict.value)


def members(body: Json) -> Json:
    """Return the members of a manifest without its aliases."""
    return {"name": body["metadata"]["name"], "prune": body["prune"], "on_conflict": body["on_conflict"]}

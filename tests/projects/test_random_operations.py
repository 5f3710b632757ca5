"""Invariants of projects under random and concurrent operations."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.projects.make import PATH, archive, create, published_events

Json = dict[str, Any]
SLUGS = ["alpha", "beta", "gamma"]


class Model:
    """The expected projects of the account, from the requests and their replies."""

    def __init__(self) -> None:
        self.projects: dict[str, Json] = {}

    def has_slug(self, slug: str, but: str = "") -> bool:
        """Return whether another active project has the slug."""
        return any(
            each["slug"] == slug and each["status"] == "active"
            for project_id, each in self.projects.items()
            if project_id != but
        )

    def refuses(self, project_id: str, members: Json) -> bool:
        """Return whether the state does not allow the patch."""
        now = self.projects[project_id]
        wanted = {**now, **members}
        archived = members.get("archived", now["status"] == "archived")
        if now["status"] == "archived" and archived:
            return any(now[name] != value for name, value in members.items() if name != "archived")
        changes = now["status"] == "archived" or any(now.get(name) != wanted[name] for name in ("name", "slug"))
        return changes and self.has_slug(wanted["slug"], but=project_id)


async def act(alice: Person, model: Model, chance: random.Random) -> None:
    """Send one random request and compare the reply with the model."""
    slug, known = chance.choice(SLUGS), list(model.projects)
    action = chance.choice(["create", "patch", "patch", "archive", "restore"]) if known else "create"
    if action == "create":
        answer = await alice.post(PATH, json={"name": "n", "slug": slug})
        assert answer.status_code == (409 if model.has_slug(slug) else 201)
    else:
        project_id = chance.choice(known)
        members: Json = {"archived": False} if action == "restore" else {"name": chance.choice("xyz")}
        if chance.random() < 0.5:
            members["slug"] = slug
        if action == "archive":
            answer = await alice.delete(f"{PATH}/{project_id}")
            assert answer.status_code == 200
        else:
            answer = await alice.patch(f"{PATH}/{project_id}", json=members)
            assert answer.status_code == (409 if model.refuses(project_id, members) else 200), answer.text
    if answer.is_success:
        model.projects[answer.json()["id"]] = answer.json()


@pytest.mark.parametrize("seed", range(4))
async def test_random_operations_match_the_model(alice: Person, conn: Conn, seed: int) -> None:
    chance, model = random.Random(seed), Model()  # noqa: S311 - repeatable randomness
    for _ in range(80):
        await act(alice, model, chance)

    listed = (await alice.get(PATH, params={"include_archived": True, "limit": 500})).json()["items"]
    assert {each["id"]: each["version"] for each in listed} == {
        project_id: each["version"] for project_id, each in model.projects.items()
    }
    # Each version was published once.
    events = Counter(data["id"] for _, data in await published_events(conn, alice.account.id))
    assert events == {each["id"]: each["version"] for each in listed}


async def test_concurrent_operations_keep_active_slugs_unique(alice: Person) -> None:
    made = [await create(alice, slug=slug) for slug in SLUGS]

    async def one(seed: int) -> set[int]:
        chance, statuses = random.Random(seed), set[int]()  # noqa: S311 - as above
        for _ in range(12):
            path = f"{PATH}/{chance.choice(made)['id']}"
            match chance.randrange(4):
                case 0:
                    answer = await alice.delete(path)
                case 1:
                    answer = await alice.post(PATH, json={"name": "n", "slug": chance.choice(SLUGS)})
                case _:
                    members = {"archived": False, "slug": chance.choice(SLUGS)}
                    answer = await alice.patch(path, json=members)
            statuses.add(answer.status_code)
        return statuses

    statuses = await asyncio.gather(*(one(seed) for seed in range(6)))
    assert set().union(*statuses) <= {200, 201, 409}
    active = [each["slug"] for each in (await alice.get(PATH)).json()["items"]]
    assert len(set(active)) == len(active) <= len(SLUGS)


async def test_a_restored_and_a_new_project_compete_for_a_slug(alice: Person) -> None:
    made = await create(alice, slug="alpha")
    for _ in range(5):
        await archive(alice, made)
        answers = await asyncio.gather(
            alice.patch(f"{PATH}/{made['id']}", json={"archived": False}),
            alice.post(PATH, json={"name": "New", "slug": "alpha"}),
        )
        assert sorted(each.is_success for each in answers) == [False, True]
        if answers[1].is_success:
            await archive(alice, answers[1].json())

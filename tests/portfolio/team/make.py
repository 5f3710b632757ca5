"""Invitations and members of the tests."""

from typing import Any

import httpx

from tests.cast import Client, Person

TEAM = "/v1/portfolio/team"


def of(owner: Person) -> dict[str, str]:
    return {"X-Portfolio-Account": str(owner.account.id)}


async def invite(owner: Client, person: Person, role: str = "viewer", **more: Any) -> dict[str, Any]:
    body = {"email": person.account.email, "role": role, **more}
    answer = await owner.post(f"{TEAM}/invites", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def join(owner: Person, person: Person, role: str = "viewer") -> None:
    made = await invite(owner, person, role)
    answer = await person.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert answer.status_code == 200, answer.text


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]

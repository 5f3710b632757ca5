"""Invitations, members and deciders of the tests."""

from typing import Any

import httpx

from tests.cast import Client, Person

TEAM = "/v1/portfolio/team"
DECIDERS = "/v1/account/deciders"
APPROVER: dict[str, Any] = {"approve_plans": True}


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


def reason(answer: httpx.Response) -> tuple[int, str, str]:
    return (*code(answer), answer.json().get("reason"))


def member_path(person: Person) -> str:
    return f"{TEAM}/members/{person.account.id}"


def confirm_path(person: Person) -> str:
    return f"{DECIDERS}/{person.account.id}/confirm"


async def appoint(owner: Person, member: Person) -> None:
    """Make a member of the team a decider."""
    await join(owner, member)
    async with owner.browser() as browser:
        answer = await browser.patch(member_path(member), json=APPROVER)
    assert answer.status_code == 200, answer.text


async def list_deciders(person: Person) -> dict[str, Any]:
    """Return the deciders of the person's account by address."""
    async with person.browser() as browser:
        answer = await browser.get(DECIDERS)
    assert answer.status_code == 200, answer.text
    return {each["email"]: each for each in answer.json()["items"]}

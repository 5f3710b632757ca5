"""Domains of the tests."""

from typing import Any

from tests.cast import Client

DOMAINS = "/v1/portfolio/domains"


async def add(owner: Client, domain: str = "harbour.com", headers: Any = None, **more: Any) -> dict[str, Any]:
    answer = await owner.post(DOMAINS, json={"domain": domain, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    added: dict[str, Any] = answer.json()
    return added


async def names(owner: Client, **query: Any) -> list[str]:
    answer = await owner.get(DOMAINS, params=query)
    assert answer.status_code == 200, answer.text
    return [each["domain"] for each in answer.json()["items"]]

"""Domains of the tests, and what is recorded of their money."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.cast import Person

DOMAINS = "/v1/portfolio/domains"


@dataclass(frozen=True)
class Book:
    """The finance of a domain, as its owner works on it."""

    owner: Person
    domain_id: str
    path: str

    async def get(self, **query: Any) -> dict[str, Any]:
        answer = await self.owner.get(self.path, params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def change(self, **body: Any) -> dict[str, Any]:
        answer = await self.owner.patch(self.path, json=body)
        assert answer.status_code == 200, answer.text
        changed: dict[str, Any] = answer.json()
        return changed

    async def refuse(self, **body: Any) -> tuple[list[str | int], str]:
        """Return the location and type of the first error."""
        return first_error(await self.owner.patch(self.path, json=body))

    async def renew(self, amount: Any = "10.00", **body: Any) -> dict[str, Any]:
        answer = await self.owner.post(f"{self.path}/renewals", json={"amount": amount, **body})
        assert answer.status_code == 200, answer.text
        recorded: dict[str, Any] = answer.json()
        return recorded

    async def domain(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.owner.get(f"{DOMAINS}/{self.domain_id}")).json()
        return found


async def add_domain(owner: Person, name: str, **body: Any) -> Book:
    answer = await owner.post(DOMAINS, json={"domain": name, **body})
    assert answer.status_code == 201, answer.text
    domain_id = answer.json()["id"]
    return Book(owner, domain_id, f"{DOMAINS}/{domain_id}/finance")


def first_error(answer: httpx.Response) -> tuple[list[str | int], str]:
    assert answer.status_code == 422, answer.text
    error = answer.json()["detail"][0]
    return error["loc"][1:], error["type"]


def usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


def amounts(finance: dict[str, Any], *names: str) -> list[str | None]:
    """Return the amounts of figures, None for those that are null."""
    return [finance[name] and finance[name]["amount"] for name in names]


def shown(finance: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return the entries: kind, day, signed amount, and whether they are void."""
    return [
        (each["kind"], each["occurred_on"], each["signed_amount"]["amount"], each["voided_at"] is not None)
        for each in finance["entries"]
    ]


def changed(finance: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {each["field"]: (each["from"], each["to"]) for each in finance["changes"]}


SALE: dict[str, Any] = {
    "gross": usd("1000"),
    "sold_on": "2024-03-04",
    "commission_rate": "0.15",
    "fees": [{"amount": "20"}, {"kind": "escrow_fee", "amount": "5", "on": "2024-03-05"}],
}

"""Keys with a mandate, minted as a person mints them."""

from typing import Any

from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.identity.make import mint
from tests.plans.make import PROMOTE, promotion_request

ALL = ["names", "plans", "mail", "money", "portfolio", "api"]
FREE: dict[str, Any] = {  # all that a mandate can allow
    "toolsets": ALL,
    "read_only": False,
    "max_total_per_plan": [{"amount": "1000.00", "currency": "USD"}],
    "max_total_per_30_days": [{"amount": "1000.00", "currency": "USD"}],
    "deletes_per_plan": 1000,
    "deletes_per_30_days": 1000,
    "outward": True,
}


def usd(amount: str) -> list[dict[str, str]]:
    """Return a limit in dollars."""
    return [{"amount": amount, "currency": "USD"}]


class Machine(Person):
    """A person's machine: it has a live key with a mandate."""

    def __init__(self, person: Person, key: str, key_id: str) -> None:
        Client.__init__(self, person.service, key)
        self.service, self.account, self.key_id = person.service, person.account, key_id


async def machine(
    person: Person, *, kind: str = "live", preset: str = "developer_full", **mandate: Any
) -> Machine:
    """Return a machine of a person; a member that is not given is the most that a mandate can allow."""
    made = await mint(person, label="agent", key_kind=kind, preset=preset, mandate=FREE | mandate)
    return Machine(person, made["secret"], made["id"])


def reason(answer: Any) -> tuple[int, str, str | None]:
    """Return the status, and the code and the reason of a refusal."""
    body = answer.json() if answer.status_code >= 400 else {}
    return answer.status_code, body.get("code", ""), body.get("reason")


def refused(limit: str) -> tuple[int, str, str]:
    """Return what `reason` returns for a mandate that does not allow something."""
    return 403, "mandate_exceeded", limit


async def confirm(conn: Conn, person: Person, email: str = "ada@example.net") -> None:
    """Do what the recipient of a destination does."""
    await conn.execute(
        "UPDATE aliases_destinations SET verified_at = now() WHERE account_id = %s AND email = %s",
        (person.account.id, email),
    )


async def send(agent: Person, planned: dict[str, Any], **members: Any) -> Any:
    """Ask for a promotion; return the answer."""
    return await agent.post(PROMOTE, json=promotion_request(planned, **members))

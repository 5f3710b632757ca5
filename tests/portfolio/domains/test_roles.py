"""Who may do what with the domains of a portfolio: operations by role, a stranger, a key without the scope."""

from typing import Any

import pytest

from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.team.make import code, join, of

READERS = {"owner", "admin", "manager", "accountant", "viewer"}
EDITORS = {"owner", "admin", "manager"}
SEES_MONEY = READERS - {"viewer"}
# An operation with its body, the status that it answers, and the roles that it answers to.
OPERATIONS: list[tuple[str, str, Any, int, set[str]]] = [
    ("GET", DOMAINS, None, 200, READERS),
    ("POST", DOMAINS, {"domain": "new.com"}, 201, EDITORS),
    ("GET", f"{DOMAINS}/harbour.com", None, 200, READERS),
    ("PATCH", f"{DOMAINS}/harbour.com", {"tags": ["a"]}, 200, EDITORS),
    ("POST", f"{DOMAINS}/tags", {"domains": ["harbour.com"], "add": ["b"]}, 200, EDITORS),
    ("DELETE", f"{DOMAINS}/harbour.com", None, 204, EDITORS),
    ("GET", "/v1/portfolio/tags", None, 200, READERS),
]
MONEY = {"renewal_price", "asking_price", "min_offer", "estimated_value", "finance", "revenue_share"}
PRICED: dict[str, Any] = {
    **dict.fromkeys(("renewal_price", "asking_price", "min_offer", "estimated_value"), "5"),
    "currency": "USD",
    "ownership": "consigned",
    "revenue_share": "10",
    "purchase": {"amount": "10", "currency": "USD"},
}


@pytest.mark.parametrize("role", sorted(READERS))
async def test_what_a_role_may_do(role: str, alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, role)
    await add(alice, **PRICED)
    for method, path, body, status, roles in OPERATIONS:
        stranger = await bob.request(method, path, json=body, headers=of(alice))
        assert code(stranger) == (404, "portfolio_not_found"), (method, path)
        if method == "GET" and path.startswith(DOMAINS):
            seen = (await charlie.get(path, headers=of(alice))).json()
            for item in seen.get("items", [seen]):
                hidden = {name for name in MONEY if item[name] is None}
                assert hidden == (set() if role in SEES_MONEY else MONEY)
                assert item["redacted"] == ([] if role in SEES_MONEY else ["finance"])
        answer = await charlie.request(method, path, json=body, headers=of(alice))
        if role in roles:
            assert answer.status_code == status, (method, path, answer.text)
        else:
            assert code(answer) == (403, "forbidden_role"), (method, path)
    assert (await charlie.get(DOMAINS)).json()["items"] == []


async def test_the_scope_is_needed(people: MakePerson) -> None:
    builder = await people("builder")
    for method, path, body, _, _ in OPERATIONS:
        assert code(await builder.request(method, path, json=body)) == (403, "insufficient_scope")

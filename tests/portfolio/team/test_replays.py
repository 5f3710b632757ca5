"""A response that is stored for an Idempotency-Key is repeated only to a member whose role still sees it."""

from tests.cast import Person
from tests.portfolio.team.make import TEAM, code, join, of


async def test_a_replay_follows_the_role_of_the_member(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    member = f"{TEAM}/members/{charlie.account.id}"
    headers = {**of(alice), "Idempotency-Key": "harbour"}
    body = {"domain": "harbour.com", "renewal_price": {"amount": "43.21", "currency": "USD"}}

    first = await charlie.post("/v1/portfolio/domains", json=body, headers=headers)
    again = await charlie.post("/v1/portfolio/domains", json=body, headers=headers)
    assert (first.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert again.json() == first.json()

    for role, permission in (("accountant", "portfolio.edit"), ("viewer", "finance.view")):
        await alice.patch(member, json={"role": role})
        refused = await charlie.post("/v1/portfolio/domains", json=body, headers=headers)
        assert code(refused) == (403, "forbidden_role")
        assert refused.json()["permission"] == permission
        assert "43.21" not in refused.text
    await alice.delete(member)
    assert code(await charlie.post("/v1/portfolio/domains", json=body, headers=headers)) == (
        404,
        "portfolio_not_found",
    )

    await join(alice, charlie, "admin")
    shown = await charlie.post("/v1/portfolio/domains", json=body, headers=headers)
    assert (shown.status_code, shown.json()) == (201, first.json())

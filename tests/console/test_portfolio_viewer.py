"""A viewer's pages of a portfolio contain no amount anywhere in their source, and all others of the team do."""

import re
from collections.abc import Awaitable, Callable

import pytest

from builders.console.pages import PAGES
from tests.cast import Person
from tests.console.form_scenes import notified
from tests.console.money import LIKE_AMOUNT
from tests.console.portfolio_scene import add, in_days
from tests.console.registrar_scene import charge, differ
from tests.console.scenes import Scene
from tests.console.visitor import Visitor
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
YEN = "54321"  # an amount without decimals, which looks like any number
SHOWN_YEN = re.compile("54,?321")
MONEY = "renewal_price,renewal_price_base,estimated_value,asking_price,min_offer,cost,income,net,roi"
QUERIES = {
    "portfolio/domains": f"?columns={MONEY},notes",
    "portfolio/renewals": "?budget=7&drop_max_income=7&within_days=365",
    "portfolio/connect": "?provider=porkbun",
}
SHOWN = "such as 500.00 USD"  # the example of a preference


@pytest.fixture
async def addresses(alice: Person, scene: Scene) -> list[str]:
    """Give Alice's portfolio amounts of every kind; return her pages that a viewer opens."""
    await differ(alice)
    await charge(alice)
    await notified(scene)
    yen = {"amount": YEN, "currency": "JPY"}
    async with alice.browser() as api:
        prices = dict.fromkeys(("renewal_price", "estimated_value", "asking_price", "min_offer"), yen)
        domain_id = await add(api, "yen.com", **prices, expires_at=in_days(30))
        path = f"/v1/portfolio/domains/{domain_id}"
        entry = {"kind": "acquisition", "amount": yen}
        assert (await api.patch(f"{path}/finance", json={"entries_add": [entry]})).is_success
        assert (await api.patch(path, json={"renewal_price": {**yen, "amount": f"{YEN}0"}})).is_success
        row = {"domain": "yen.com", "date": in_days(-2)[:10], "amount": yen, "visits": 7}
        assert (await api.post("/v1/portfolio/parking/revenue", json=row)).is_success
        run = (await api.post("/v1/portfolio/registrars/sync?wait=0")).json()["run_id"]
    known = {"domain_id": domain_id, "run_id": run}
    paths = [each.path for each in PAGES if each.for_teams and each.path.startswith(("portfolio", "team"))]
    return [
        f"{path.format_map(known)}{QUERIES.get(path, '')}" for path in paths if "import_id" not in path
    ]  # an import is for editors


@pytest.mark.parametrize("role", ["viewer", "accountant"])
async def test_only_a_viewer_sees_no_amount(
    visit: Visit, alice: Person, charlie: Person, addresses: list[str], role: str
) -> None:
    await join_team(alice, charlie, role)
    browser = await visit(charlie)
    pages = {each: await browser.get(f"/console/of/{alice.account.id}/{each}") for each in addresses}
    pages["file"] = await browser.get(f"/console/of/{alice.account.id}/portfolio/domains.csv?columns={MONEY}")
    texts = {name: page.text.replace(SHOWN, "") for name, page in pages.items()}
    found = {name for name, text in texts.items() if SHOWN_YEN.search(text) or LIKE_AMOUNT.search(text)}

    refused = [name for name, page in pages.items() if page.is_error]
    assert refused == (["portfolio/entries"] if role == "viewer" else [])
    assert "yen.com" in texts["file"]
    pages_without = ("notices", "import", "registrars", "registrars/list", "connect?provider=porkbun")
    without = {f"portfolio/{each}" for each in pages_without} | {each for each in addresses if "/remove/" in each}
    of_money = {each for each in addresses if "/runs/" not in each} | {"file"}
    assert found == (set() if role == "viewer" else of_money - without - {"team"})

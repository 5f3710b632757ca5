"""The forms of sales, of currencies and of correspondents: where each is shown, and what makes it stale."""

from collections.abc import Mapping
from datetime import timedelta

from builders.kit.values import clock, ids
from tests.console.scenes import Scene, Shown
from tests.plans import make
from tests.portfolio.ledger.make import add_rates

SALE, CURRENCIES, CORRESPONDENTS = "portfolio/sale/{id}", "portfolio/currencies", "names/{id}/correspondents"


async def name(scene: Scene) -> None:
    promotion = await make.apply(scene.alice, make.alias(f"ada@{scene.domain}"))
    scene.made = {"id": promotion["steps"][0]["resource_id"]}


async def expiring_domain(scene: Scene) -> None:
    row = {"domain": f"soon-{ids.new().hex}.com", "expires_at": (clock.now() + timedelta(days=10)).isoformat()}
    async with scene.alice.browser() as browser:
        answer = await browser.post("/v1/portfolio/domains", json=row)
    assert answer.status_code == 201, answer.text
    scene.made = answer.json()


async def remove_domain(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/portfolio/domains/{scene.made['id']}", params={"history": "delete"})


async def sold_domain(scene: Scene) -> None:
    await expiring_domain(scene)
    payment = {"on": "2026-11-20", "amount": {"amount": "40.00", "currency": "USD"}}
    sale = {"gross": {"amount": "100.00", "currency": "USD"}, "sold_on": "2026-11-01", "installments": [payment]}
    await scene.change("PATCH", f"/v1/portfolio/domains/{scene.made['id']}/finance", json={"sale": sale})


async def change_instalments(scene: Scene) -> None:
    changed: dict[str, dict[str, list[str]]] = {"sale": {"installments": []}}
    await scene.change("PATCH", f"/v1/portfolio/domains/{scene.made['id']}/finance", json=changed)


async def domain_with_rates(scene: Scene) -> None:
    await add_rates(scene.alice.service.api.state.database)
    await expiring_domain(scene)


async def own_rate(scene: Scene) -> None:
    rate = {"currency": "BTC", "since": "2026-01-01", "rate": "0.5", "quote_currency": "EUR"}
    await scene.change("PUT", "/v1/portfolio/exchange-rates", json={"rates": [rate]})


async def replying_name(scene: Scene) -> None:
    await name(scene)
    await scene.change("PATCH", f"/v1/aliases/{scene.made['id']}", json={"reply": True})


async def correspondent(scene: Scene) -> None:
    await replying_name(scene)
    path = f"/v1/aliases/{scene.made['id']}/correspondents"
    await scene.change("POST", path, json={"email": "friend@example.net"})
    scene.made["correspondent"] = (await scene.alice.get(path)).json()["items"][0]["id"]


async def remove_correspondent(scene: Scene) -> None:
    path = f"/v1/aliases/{scene.made['id']}/correspondents"
    await scene.change("DELETE", f"{path}/{scene.made['correspondent']}")


SALES_AND_CORRESPONDENTS: Mapping[str, Shown] = {
    "sale-record": Shown(
        page=SALE,
        prepare=expiring_domain,
        typed={"sale.gross": "1200.50 USD", "sale.venue": "Sedo"},
        meanwhile=remove_domain,
        tells="no such",
    ),
    "sale-void": Shown(page=SALE, prepare=sold_domain, meanwhile=remove_domain, tells="no such"),
    "instalment-receive": Shown(
        page=SALE, prepare=sold_domain, meanwhile=change_instalments, tells="changed since you opened"
    ),
    "rate-add": Shown(
        page=CURRENCIES, typed={"currency": "BTC", "rate": "0.5", "quote_currency": "EUR", "since": "2026-01-01"}
    ),
    "rate-remove": Shown(page=CURRENCIES, prepare=own_rate),
    "base-currency-change": Shown(page=CURRENCIES, prepare=domain_with_rates, typed={"base_currency": "EUR"}),
    "correspondent-add": Shown(page=CORRESPONDENTS, prepare=replying_name, typed={"email": "new@example.net"}),
    "correspondent-remove": Shown(
        page=CORRESPONDENTS, prepare=correspondent, meanwhile=remove_correspondent, tells="no such"
    ),
}

"""The forms of imports and of registrars: where each is shown, and what makes it stale."""

from collections.abc import Mapping

from builders.console.forms import Packing
from builders.demo.registrars.fake import FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.console import registrar_scene
from tests.console.scenes import Scene, Shown
from tests.portfolio.transfers import make as transfers

IMPORTED, CHARGES = "portfolio/imports/{import_id}", "portfolio/registrars/charges?state=unmatched"


def packed(content: bytes = b"domain\nharbour.com\n") -> str:
    """Return a file as a form carries it."""
    packing = Packing()
    packing.write(content)
    return "".join(packing.texts())


async def imported(scene: Scene) -> None:
    async with scene.alice.browser() as browser:
        answer = await browser.post("/v1/portfolio/import", json={"domains": ["harbour.com"]})
    scene.made = answer.json()


async def saved_format(scene: Scene) -> None:
    await scene.change("PUT", "/v1/portfolio/formats/mine", json={"mapping": {"domain": "Mine"}})


async def connected_registrar(scene: Scene) -> None:
    await scene.change("PUT", "/v1/portfolio/registrars/manual:old", json={})


async def differing_registrar(scene: Scene) -> None:
    await registrar_scene.differ(scene.alice)
    scene.made = (await registrar_scene.findings(scene.alice))["missing_in_portfolio"]


async def add_held(scene: Scene) -> None:
    await scene.change("POST", "/v1/portfolio/domains", json={"domain": "quay.org", "registrar": "Porkbun"})


async def held_domain(scene: Scene) -> None:
    """Let a stand-in of a registrar hold a domain, and the service reach it."""
    state = scene.alice.service.api.state
    fakes = scene.stack.enter_context(FakeServer())
    settings = Settings.model_validate({"outbound_allow": [fakes.address]})
    scene.stack.callback(setattr, state, "outbound", state.outbound)
    state.outbound = await scene.stack.enter_async_context(Outbound(settings))
    await transfers.add_held(scene.alice, fakes, locked=False)
    async with scene.alice.browser() as browser:
        scene.made = (await browser.get("/v1/portfolio/domains/harbour.com")).json()


async def remove_held(scene: Scene) -> None:
    await scene.change("DELETE", "/v1/portfolio/domains/harbour.com")


async def charged(scene: Scene) -> None:
    await registrar_scene.charge(scene.alice)


async def charged_for_two(scene: Scene) -> None:
    await charged(scene)
    await scene.change("POST", "/v1/portfolio/domains", json={"domain": "gull.com"})


async def split_charge(scene: Scene) -> None:
    await registrar_scene.split_charge(scene.alice)


BILL = b"date,order id,domain,amount,currency\n2026-10-05,A-1,ferry.com,12.00,USD\n"
REVENUE = b"date,domain,revenue,currency\n2026-10-05,harbour.com,1.23,USD\n"
BILL_FORM = {"source": packed(BILL), "provider": "manual:old"}
LIST_FORM = {"source": packed(), "provider": "manual:old"}
REVENUE_FORM = {"source": packed(REVENUE)}


async def remove_ferry(scene: Scene) -> None:
    await scene.change("DELETE", "/v1/portfolio/domains/ferry.com", params={"history": "delete"})


IMPORTS_AND_REGISTRARS: Mapping[str, Shown] = {
    "import-preview": Shown(page="portfolio/import", typed={"source": packed}),
    "import-start": Shown(page="portfolio/import", after="import-preview", typed_before={"source": packed}),
    "bill-preview": Shown(page="portfolio/registrars/bill", typed=BILL_FORM),
    "bill-read": Shown(page="portfolio/registrars/bill", after="bill-preview", typed_before=BILL_FORM),
    "holdings-preview": Shown(page="portfolio/registrars/list", typed=LIST_FORM),
    "holdings-read": Shown(page="portfolio/registrars/list", after="holdings-preview", typed_before=LIST_FORM),
    "revenue-preview": Shown(page="portfolio/parking/file", prepare=imported, typed=REVENUE_FORM),
    "revenue-read": Shown(
        page="portfolio/parking/file", prepare=imported, after="revenue-preview", typed_before=REVENUE_FORM
    ),
    "import-undo-check": Shown(page=IMPORTED, prepare=imported),
    "import-undo": Shown(page=IMPORTED, prepare=imported),
    "format-delete": Shown(page="portfolio/import", prepare=saved_format),
    "registrar-connect": Shown(page="portfolio/connect?provider=manual", typed={"provider": "old"}),
    "registrar-disconnect": Shown(page="portfolio/registrars", prepare=connected_registrar),
    "registrars-sync": Shown(page="portfolio/registrars", prepare=differing_registrar),
    "charges-sync": Shown(page="portfolio/registrars", prepare=differing_registrar),
    "charge-match": Shown(
        page=CHARGES,
        prepare=charged,
        typed={"domain": "ferry.com"},
        meanwhile=remove_ferry,
        tells="no such domain",
    ),
    "charge-ignore": Shown(page=CHARGES, prepare=charged),
    "charge-split": Shown(
        page=CHARGES,
        prepare=charged_for_two,
        typed={"parts": "ferry.com 20.00\ngull.com 25.67"},
        meanwhile=remove_ferry,
        tells="no such domain",
    ),
    "charge-unsplit": Shown(page="portfolio/registrars/charges?state=split", prepare=split_charge),
    "charges-apply": Shown(page="portfolio/registrars/charges", prepare=charged),
    "auth-code": Shown(
        page="portfolio/domains/{id}", prepare=held_domain, meanwhile=remove_held, tells="no such domain"
    ),
    "findings-fix": Shown(
        page="portfolio/registrars/reconcile",
        prepare=differing_registrar,
        typed={"only": "{id}"},
        meanwhile=add_held,
        tells="have changed since",
    ),
}

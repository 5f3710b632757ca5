"""The suggested action of each finding, sent after its manual step: then the finding is gone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, FakeServer
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.registrars.findings import FindingCategory as Category
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.reconcile_make import ahead, report
from tests.portfolio.registrars.sync import INVENTORY, SYNC, Json, fake_of, held, ok, sync, work

pytestmark = pytest.mark.usefixtures("calls_fakes")
NAME = "a.com"
Fields = dict[str, Any]
Step = Callable[[FakeRegistrar], None]


def change(**fields: Any) -> Step:
    """What a person changes at the registrar."""

    def step(fake: FakeRegistrar) -> None:
        [domain] = [each for each in fake.account.domains if each.domain == NAME]
        for name, value in fields.items():
            setattr(domain, name, value)

    return step


def remove(*names: str) -> Step:
    def step(fake: FakeRegistrar) -> None:
        fake.account.domains = [each for each in fake.account.domains if each.domain not in names]

    return step


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A difference, and what resolves it at its registrar."""

    category: Category
    held: Fields | None = field(default_factory=dict)  # at the registrar; None: it lacks the domain
    own: Fields | None = field(default_factory=dict)  # in the portfolio after the sync; None: it lacks the domain
    name: str = NAME  # in the portfolio
    registrar: str = "godaddy"
    step: Step | None = None  # of a person


CASES = [
    Case(
        category=Category.PENDING_TRANSFER_OUT_UNEXPECTED,
        held={"state": "leaving"},
        registrar="gandi",
        step=change(state="active"),
    ),
    Case(category=Category.REDEMPTION, held={"state": "redemption"}, step=change(state="active")),
    Case(
        category=Category.EXPIRED_AT_REGISTRAR,
        held={"state": "expired", "expires_at": -3},
        step=change(state="active", expires_at=ahead(362)),
    ),
    Case(category=Category.MISSING_AT_REGISTRAR, held=None, own={"registrar": "GoDaddy.com, LLC"}),
    Case(category=Category.EXPIRY_MISMATCH, own={"expires_at": "2028-03-01"}),
    Case(category=Category.AUTO_RENEW_MISMATCH, own={"auto_renew": False}),
    Case(category=Category.AUTO_RENEW_MISMATCH, own={"auto_renew": False}, registrar="spaceship"),
    Case(category=Category.DROPPED_BUT_ACTIVE, own={"status": "dropped"}),
    Case(
        category=Category.DROPPED_BUT_ACTIVE,
        own={"status": "dropped"},
        registrar="namecheap",
        step=change(auto_renew=False),
    ),
    Case(category=Category.REGISTRAR_MISMATCH, own={"registrar": "Elsewhere"}),
    Case(category=Category.IDN_FORM_MISMATCH, held={"domain": "xn--fa-hia.com"}, name="fass.com"),
    Case(category=Category.MISSING_IN_PORTFOLIO, own=None),
    Case(
        category=Category.PRICE_CHANGED,
        own={"renewal_price": {"amount": "1.00", "currency": "USD"}},
        registrar="porkbun",
    ),
    Case(category=Category.LOCK_OFF, held={"locked": False}, step=change(locked=True)),
    Case(category=Category.PRIVACY_OFF, held={"privacy": False}, step=change(privacy=True)),
]


async def finding_of(owner: Person, category: Category) -> Json | None:
    found = (await report(owner, category=category))["findings"]
    return found[0] if found else None


async def send(owner: Person, found: Json, worker: Settings) -> None:
    action = found["suggested_action"]
    path = (
        f"{action['path']}&wait=0" if action["path"].startswith(SYNC) else action["path"]
    )  # the worker runs here
    answer = await owner.request(action["method"], path, json=action["body"])
    assert answer.is_success, answer.text
    await work(owner, worker)


async def prepare(owner: Person, case: Case, fakes: FakeServer, worker: Settings) -> FakeRegistrar:
    """Connect a registrar, sync, and change the portfolio after it."""
    rows: list[FakeDomain | str] = ["other.com"]
    if case.held is not None:
        fields = {"domain": NAME, **case.held}
        if "expires_at" in fields:
            fields["expires_at"] = ahead(fields["expires_at"])
        rows.append(held(fields.pop("domain"), **fields))
    fake = fake_of(case.registrar, *rows)
    await connect(owner, fake, fakes)
    await add(owner, "other.com")
    if case.own is not None:
        await add(owner, case.name)
    await sync(owner, worker)
    if case.own:
        ok(await owner.patch(f"{DOMAINS}/{case.name}", json=case.own))
    return fake


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.category}-{case.registrar}")
async def test_the_suggested_action_resolves_a_finding(
    alice: Person, case: Case, fakes: FakeServer, worker: Settings
) -> None:
    fake = await prepare(alice, case, fakes, worker)
    found = await finding_of(alice, case.category)
    assert found is not None
    assert (found["manual_step"] is None) is (case.step is None), found["manual_step"]
    if case.step is not None:
        await send(alice, found, worker)
        assert await finding_of(alice, case.category) is not None  # the request alone is not enough
        case.step(fake)
    await send(alice, found, worker)
    assert await finding_of(alice, case.category) is None


async def test_a_sold_domain_is_handed_over_by_a_person(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    case = Case(category=Category.SOLD_BUT_STILL_HELD, own={"status": "sold"})
    fake = await prepare(alice, case, fakes, worker)
    found = await finding_of(alice, case.category)
    assert found is not None
    assert found["manual_step"] == (
        "Give the new holder the auth code. The first sync after the transfer no longer lists a.com."
    )
    await send(alice, found, worker)
    remove(NAME)(fake)
    await sync(alice, worker)
    assert await finding_of(alice, case.category) is None


async def test_a_duplicate_is_resolved_where_it_is_not_registered(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "other.com", NAME)
    await connect(alice, fake, fakes)
    await prepare(alice, Case(category=Category.DUPLICATE_ACROSS_REGISTRARS), fakes, worker)
    found = await finding_of(alice, Category.DUPLICATE_ACROSS_REGISTRARS)
    assert found is not None
    assert "remove it from the account" in found["manual_step"]
    remove(NAME, "other.com")(fake)
    await send(alice, found, worker)
    assert await finding_of(alice, Category.DUPLICATE_ACROSS_REGISTRARS) is None


async def test_a_sync_resolves_an_old_listing(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await prepare(alice, Case(category=Category.STALE_SNAPSHOT), fakes, worker)
    clock.move(timedelta(days=3))
    found = await finding_of(alice, Category.STALE_SNAPSHOT)
    assert found is not None
    assert found["manual_step"] is None
    await send(alice, found, worker)
    assert await finding_of(alice, Category.STALE_SNAPSHOT) is None


async def test_a_sync_resolves_a_suspicious_drop(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    names = [f"d{number}.com" for number in range(15)]
    fake = fake_of("godaddy", *names)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    remove(*names[:12])(fake)
    await sync(alice, worker)
    found = await finding_of(alice, Category.SUSPICIOUS_DROP)
    assert found is not None
    assert found["manual_step"] is None
    await send(alice, found, worker)
    assert await finding_of(alice, Category.SUSPICIOUS_DROP) is None


RESOLVED = {each.category for each in CASES} | {
    *(Category.SOLD_BUT_STILL_HELD, Category.DUPLICATE_ACROSS_REGISTRARS),
    *(Category.STALE_SNAPSHOT, Category.SUSPICIOUS_DROP),
}


def test_each_category_is_resolved_by_a_test() -> None:
    assert set(Category) == RESOLVED


CORNER = {"provider": "manual:corner"}


@pytest.mark.parametrize(
    ("category", "row", "own"),
    [
        (Category.LOCK_OFF, {"locked": False}, {}),
        (Category.PRIVACY_OFF, {"privacy": False}, {}),
        (Category.DROPPED_BUT_ACTIVE, {"auto_renew": True}, {"status": "dropped"}),
        (Category.DROPPED_BUT_ACTIVE, {}, {"status": "dropped"}),  # the list does not have it
        (Category.AUTO_RENEW_MISMATCH, {"auto_renew": False}, {"auto_renew": True}),
    ],
)
async def test_a_row_resolves_a_finding_at_a_registrar_without_an_api(
    alice: Person, worker: Settings, category: Category, row: Fields, own: Fields
) -> None:
    listed = {"domain": NAME, "expires_at": str(ahead(300).date()), **row}
    await add(alice, NAME)
    ok(await alice.post(f"{INVENTORY}/import", json={**CORNER, "rows": [listed]}))
    ok(await alice.patch(f"{DOMAINS}/{NAME}", json={"folder": "x", **own}))
    found = await finding_of(alice, category)
    assert found is not None
    assert (found["manual_step"] is None) is (category is Category.AUTO_RENEW_MISMATCH)
    await send(alice, found, worker)
    assert await finding_of(alice, category) is None


async def test_a_finding_without_a_request_says_what_a_person_does(alice: Person) -> None:
    await add(alice, NAME)
    rows = [{"domain": NAME, "expires_at": str(ahead(-9).date())}]
    ok(await alice.post(f"{INVENTORY}/import", json={**CORNER, "rows": rows}))
    found = await finding_of(alice, Category.EXPIRED_AT_REGISTRAR)
    assert found is not None
    assert found["suggested_action"] is None
    assert found["manual_step"] == (
        "Renew a.com at corner. Then import the domains of corner (default): "
        "POST /v1/portfolio/registrars/inventory/import."
    )
    rows[0]["expires_at"] = str(ahead(356).date())
    ok(await alice.post(f"{INVENTORY}/import", json={**CORNER, "rows": rows}))
    assert await finding_of(alice, Category.EXPIRED_AT_REGISTRAR) is None

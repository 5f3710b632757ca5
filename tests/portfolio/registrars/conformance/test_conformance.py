"""Every adapter against every behavior of its fake registrar."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from builders.demo.registrars.behaviors import FAULTS, NOT_OFFERED, TRANSFERS, Behavior, find_reason
from builders.demo.registrars.fake import (
    WAIT_S,
    FakeAccount,
    FakeDomain,
    FakeLine,
    FakePurchase,
    FakeRegistrar,
    FakeTransfer,
    Fault,
)
from builders.demo.registrars.fakes import FAKES
from builders.portfolio.registrars.adapter import Adapter, a_label
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import (
    AuthCodeDelivery,
    ChargeKind,
    HeldDomain,
    HeldStatus,
    TransferState,
)
from tests.portfolio.registrars.conformance.conftest import Connect

CREATED = datetime(2020, 2, 29, 12, 0, 0, tzinfo=UTC)
EXPIRES = datetime(2027, 2, 28, 12, 0, 0, tzinfo=UTC)
IDN = "xn--bcher-kva.example"
EACH = pytest.mark.parametrize("provider", sorted(ADAPTERS))
PAGES = {Behavior.SHORT_PAGE: -1, Behavior.FULL_PAGE: 0, Behavior.TWO_PAGES: 1}
PASSING = {Behavior.PASSING_SERVER_ERROR: Fault.SERVER_ERROR, Behavior.PASSING_HALF_BODY: Fault.MALFORMED}
plays = pytest.mark.plays  # the behaviors that a test is about


def one_of(behaviors: Iterable[Behavior]) -> pytest.MarkDecorator:
    """Run a test for each of the behaviors."""
    return pytest.mark.parametrize("behavior", list(behaviors), ids=lambda each: each.name.lower())


def domain(name: str, **more: object) -> FakeDomain:
    return FakeDomain(**{"domain": name, "expires_at": EXPIRES, "created_at": CREATED, **more})  # type: ignore[arg-type] # the arguments are of several types


def fake_of(provider: str, *domains: FakeDomain) -> FakeRegistrar:
    return FAKES[provider](FakeAccount(domains=list(domains)))


async def list_all(adapter: Adapter) -> list[HeldDomain]:
    return [held async for page in adapter.list_domains() for held in page]


def test_every_adapter_has_a_fake() -> None:
    assert ADAPTERS.keys() == FAKES.keys()


@EACH
@one_of(PAGES)
async def test_lists_every_domain_once(connect: Connect, provider: str, behavior: Behavior) -> None:
    size = FAKES[provider].page_size + PAGES[behavior]
    fake = fake_of(provider, *(domain(f"d{n:04d}.example") for n in range(size)))
    adapter = connect(fake)
    assert [held.domain for held in await list_all(adapter)] == [f"d{n:04d}.example" for n in range(size)]


@EACH
@plays(Behavior.CAPPED_PAGES)
async def test_a_short_page_is_not_taken_for_the_last_one(connect: Connect, provider: str) -> None:
    if reason := find_reason(Behavior.CAPPED_PAGES, provider):
        pytest.skip(reason)
    names = [f"d{n:04d}.example" for n in range(7)]
    fake = fake_of(provider, *map(domain, names))
    fake.account.most_rows = 3  # whatever the request asks for
    assert [held.domain for held in await list_all(connect(fake))] == names


@EACH
@plays(Behavior.TRUNCATED_PAGE)
async def test_a_list_that_lacks_a_domain_is_not_complete(connect: Connect, provider: str) -> None:
    if reason := find_reason(Behavior.TRUNCATED_PAGE, provider):
        pytest.skip(reason)
    names = [f"d{n:04d}.example" for n in range(7)]
    fake = fake_of(provider, *map(domain, names))
    fake.account.most_rows, fake.account.is_truncated = 3, True
    listed, failure = list[str](), None
    try:
        async for page in connect(fake).list_domains():
            listed.extend(held.domain for held in page)
    except RegistrarFailed as failed:
        failure = failed.kind
    # Either the next page begins with the domain, or the list is known to lack it.
    assert (listed, failure) in [(names, None), (names[:2] + names[3:], RegistrarFailure.INCOMPLETE)]


@EACH
@plays(Behavior.EMPTY_LIST)
async def test_lists_nothing_of_an_empty_account(connect: Connect, provider: str) -> None:
    adapter = connect(fake_of(provider))
    assert await list_all(adapter) == []
    await adapter.verify()


@EACH
@plays(Behavior.AUTO_RENEW, Behavior.LOCK, Behavior.OTHER_SCRIPT, Behavior.NO_EXPIRY)
async def test_reads_what_the_list_says(connect: Connect, provider: str) -> None:
    off = domain("off.example", auto_renew=False, locked=False, privacy=False)
    fake = fake_of(provider, domain("on.example"), off, domain(IDN), domain("never.example", expires_at=None))
    adapter = connect(fake)
    held = {each.domain: each for each in await list_all(adapter)}
    on, off_row, never = held["on.example"], held["off.example"], held["never.example"]
    assert on.expires_at is not None
    assert abs(on.expires_at - EXPIRES) < timedelta(days=1)  # some registrars give a date only
    assert never.expires_at is None
    assert IDN in held
    renews, locks = (find_reason(each, provider) is None for each in (Behavior.AUTO_RENEW, Behavior.LOCK))
    assert (on.auto_renew, off_row.auto_renew) == ((True, False) if renews else (None, None))
    assert (on.locked, off_row.locked) == ((True, False) if locks else (None, None))
    assert on.privacy in {True, None}
    assert off_row.privacy in {False, None}


@EACH
@plays(Behavior.EXPIRED)
async def test_reads_an_expired_domain(connect: Connect, provider: str) -> None:
    past = datetime(2026, 1, 1, tzinfo=UTC)
    adapter = connect(fake_of(provider, domain("old.example", state="expired", expires_at=past)))
    [held] = await list_all(adapter)
    assert held.status in {HeldStatus.EXPIRED, HeldStatus.UNKNOWN}
    assert held.expires_at is not None
    assert held.expires_at.date() == past.date()


@EACH
@plays(Behavior.ONE_DOMAIN, Behavior.OTHER_DOMAIN)
async def test_finds_one_domain(connect: Connect, provider: str) -> None:
    fake = fake_of(provider, domain("one.example"), domain(IDN))
    adapter = connect(fake)
    assert (await adapter.get_domain(IDN)).domain == IDN
    with pytest.raises(RegistrarFailed) as failed:
        await adapter.get_domain("other.example")
    assert failed.value.kind is RegistrarFailure.NOT_FOUND


@EACH
@plays(Behavior.WRONG_CREDENTIALS)
async def test_refuses_wrong_credentials(connect: Connect, provider: str) -> None:
    wrong = {name: f"{value}-wrong" for name, value in FAKES[provider].credentials.items()}
    adapter = connect(fake_of(provider), wrong)
    with pytest.raises(RegistrarFailed) as failed:
        await adapter.verify()
    assert failed.value.kind is RegistrarFailure.AUTH_FAILED
    assert failed.value.hint
    assert not any(value in repr(failed.value) + str(failed.value.hint) for value in wrong.values())


KINDS = {
    Fault.BAD_KEY: RegistrarFailure.AUTH_FAILED,
    Fault.RESTRICTED: RegistrarFailure.RESTRICTED,
    Fault.IP_NOT_ALLOWED: RegistrarFailure.IP_NOT_ALLOWED,
    Fault.RATE_LIMITED: RegistrarFailure.RATE_LIMITED,
    Fault.RATE_LIMITED_SILENTLY: RegistrarFailure.RATE_LIMITED,
    Fault.SERVER_ERROR: RegistrarFailure.UNAVAILABLE,
    Fault.REFUSED: RegistrarFailure.REFUSED,
    Fault.MALFORMED: RegistrarFailure.MALFORMED,
    Fault.ODD: RegistrarFailure.MALFORMED,
}


@EACH
@one_of(FAULTS)
async def test_maps_a_lasting_fault(connect: Connect, provider: str, behavior: Behavior) -> None:
    fake, fault = fake_of(provider, domain("one.example")), FAULTS[behavior]
    if reason := find_reason(behavior, provider):
        pytest.skip(reason)
    fake.account.faults.extend([fault] * 5)
    adapter = connect(fake)
    with pytest.raises(RegistrarFailed) as failed:
        await list_all(adapter)
    assert failed.value.kind is KINDS[fault]
    waits = WAIT_S if fault is Fault.RATE_LIMITED else None
    assert failed.value.retry_after_s == waits


@EACH
@one_of(PASSING)
async def test_repeats_a_read_after_a_passing_fault(connect: Connect, provider: str, behavior: Behavior) -> None:
    fake = fake_of(provider, domain("one.example"))
    fake.account.faults.append(PASSING[behavior])
    adapter = connect(fake)
    assert [held.domain for held in await list_all(adapter)] == ["one.example"]


@EACH
@plays(Behavior.AUTH_CODE)
async def test_gives_the_auth_code_or_says_how_it_is_delivered(connect: Connect, provider: str) -> None:
    adapter = connect(fake_of(provider, domain("one.example")))
    given = await adapter.get_auth_code("one.example")
    assert given.delivery is adapter.profile.capabilities.auth_code
    is_returned = find_reason(Behavior.AUTH_CODE, provider) is None
    assert is_returned == (given.delivery is AuthCodeDelivery.RETURNED)
    assert given.code == ("Fake-Auth-Code-1" if is_returned else None)
    assert "Fake-Auth-Code-1" not in repr(given)


@EACH
@one_of(TRANSFERS)
async def test_reads_an_incoming_transfer(connect: Connect, provider: str, behavior: Behavior) -> None:
    fake, state = fake_of(provider), TRANSFERS[behavior]
    fake.account.transfers = [FakeTransfer(domain="in.example", direction="in", state=state, started_at=CREATED)]
    adapter = connect(fake)
    reason = find_reason(behavior, provider)
    if reason == NOT_OFFERED:
        with pytest.raises(RegistrarFailed):
            await adapter.find_transfer("in.example")
        return
    if reason is not None:
        pytest.skip(reason)
    found = await adapter.find_transfer("in.example")
    assert await adapter.find_transfer("other.example") is None
    assert found is not None
    assert found.state is TransferState(state)


CHARGED_ON = date(2026, 3, 1)
ORDERS = [
    FakePurchase(
        order_id="1001",
        charged_on=CHARGED_ON,
        lines=[FakeLine(domains=["one.example"], operation="renewal", total=Decimal("12.34"), years=1)],
    ),
    FakePurchase(
        order_id="1002",
        charged_on=CHARGED_ON,
        lines=[
            FakeLine(domains=["two.example"], operation="registration", total=Decimal("9.99"), years=2),
            FakeLine(domains=[IDN], operation="transfer", total=Decimal("8.03"), years=1),
        ],
    ),
    FakePurchase(
        order_id="1003",
        charged_on=date(2026, 3, 20),
        parent_order_id="1001",
        lines=[FakeLine(domains=["one.example"], operation="renewal", total=Decimal("-12.34"), years=1)],
    ),
    FakePurchase(
        order_id="0999",
        charged_on=date(2025, 1, 1),
        lines=[FakeLine(domains=["old.example"], operation="renewal", total=Decimal("1.00"))],
    ),
]


@EACH
@plays(Behavior.CHARGES)
async def test_reads_the_charges_of_a_period(connect: Connect, provider: str) -> None:
    fake = fake_of(provider, domain("one.example"), domain("two.example"), domain(IDN))
    fake.account.orders = list(ORDERS)
    adapter = connect(fake)
    if find_reason(Behavior.CHARGES, provider):
        with pytest.raises(RegistrarFailed) as failed:
            adapter.list_charges(since=CHARGED_ON, until=date(2026, 3, 31))
        assert failed.value.kind is RegistrarFailure.UNSUPPORTED
        return
    lines = [
        line async for page in adapter.list_charges(since=CHARGED_ON, until=date(2026, 3, 31)) for line in page
    ]
    assert sum(line.total for line in lines) == Decimal("18.02")
    assert len({(line.order_id, line.line_id) for line in lines}) == len(lines) == 4
    by_name = {a_label(line.domains[0]): line for line in lines if line.total > 0}
    assert by_name.keys() == {"one.example", "two.example", IDN}
    kinds = [by_name[name].kind for name in ("one.example", "two.example", IDN)]
    assert kinds == [ChargeKind.RENEWAL, ChargeKind.REGISTRATION, ChargeKind.TRANSFER]
    [refund] = [line for line in lines if line.total < 0]
    assert refund.kind is ChargeKind.REFUND
    assert {line.currency for line in lines} == {"USD"}


@EACH
@plays(Behavior.SET_AUTO_RENEW, Behavior.WRITE_ONCE)
async def test_switches_auto_renew(connect: Connect, provider: str) -> None:
    fake = fake_of(provider, domain("one.example", auto_renew=False))
    adapter = connect(fake)
    if find_reason(Behavior.SET_AUTO_RENEW, provider):
        with pytest.raises(RegistrarFailed):
            await adapter.set_auto_renew("one.example", enabled=True)
        return
    await adapter.set_auto_renew("one.example", enabled=True)
    assert fake.account.domains[0].auto_renew
    fake.account.faults.append(Fault.SERVER_ERROR)
    with pytest.raises(RegistrarFailed) as failed:  # a write is not repeated
        await adapter.set_auto_renew("one.example", enabled=False)
    assert failed.value.kind is RegistrarFailure.UNAVAILABLE
    assert fake.account.domains[0].auto_renew

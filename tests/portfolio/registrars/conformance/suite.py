"""The tests that every registrar inherits: its adapter against each behavior of its fake, and its documents."""

import inspect
import re
import tomllib
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pytest

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
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.registrars import listings
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import (
    AuthCodeDelivery,
    ChargeKind,
    HeldStatus,
    RegistrarDomain,
    TransferState,
)
from builders.portfolio.registrars.rows import a_label
from tests.portfolio.registrars import requests_make
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.recorded_make import (
    RECORDED,
    SINCE,
    UNTIL,
    Replay,
    Rows,
    adapter_of,
    until_failure,
)
from tests.portfolio.registrars.requests_make import Recorder, answer
from tests.registrars.behaviors import FAULTS, NOT_OFFERED, TRANSFERS, Behavior, find_reason
from tests.registrars.fakes import FAKES

CREATED = datetime(2020, 2, 29, 12, 0, 0, tzinfo=UTC)
EXPIRES = datetime(2027, 2, 28, 12, 0, 0, tzinfo=UTC)
READ_ON = datetime(2026, 11, 22, tzinfo=UTC)
IDN = "xn--bcher-kva.example"
PAGES = {Behavior.SHORT_PAGE: -1, Behavior.FULL_PAGE: 0, Behavior.TWO_PAGES: 1}
PASSING = {Behavior.PASSING_SERVER_ERROR: Fault.SERVER_ERROR, Behavior.PASSING_HALF_BODY: Fault.MALFORMED}
MAX_LINES = 300  # of an adapter
Request = tuple[str, str, Any]  # method, path and body
plays = pytest.mark.plays  # the behaviors that a test is about


def one_of(behaviors: Iterable[Behavior]) -> pytest.MarkDecorator:
    """Run a test for each of the behaviors."""
    return pytest.mark.parametrize("behavior", list(behaviors), ids=lambda each: each.name.lower())


def domain(name: str, **more: object) -> FakeDomain:
    return FakeDomain(**{"domain": name, "expires_at": EXPIRES, "created_at": CREATED, **more})  # type: ignore[arg-type] # the arguments are of several types


def fake_of(provider: str, *domains: FakeDomain) -> FakeRegistrar:
    return FAKES[provider](FakeAccount(domains=list(domains)))


async def list_all(adapter: Adapter) -> list[RegistrarDomain]:
    return [held async for page in adapter.list_domains() for held in page]


KINDS = {
    Fault.BAD_KEY: RegistrarFailure.AUTH_FAILED,
    Fault.RESTRICTED: RegistrarFailure.RESTRICTED,
    Fault.IP_NOT_ALLOWED: RegistrarFailure.IP_NOT_ALLOWED,
    Fault.RATE_LIMITED: RegistrarFailure.RATE_LIMITED,
    Fault.RATE_LIMITED_SILENTLY: RegistrarFailure.RATE_LIMITED,
    Fault.SERVER_ERROR: RegistrarFailure.UNAVAILABLE,
    Fault.REFUSED: RegistrarFailure.REFUSED,
    Fault.MALFORMED: RegistrarFailure.MALFORMED,
    Fault.EMPTY: RegistrarFailure.MALFORMED,
    Fault.WEB_PAGE: RegistrarFailure.UNAVAILABLE,
    Fault.LIMITED_IN_WORDS: RegistrarFailure.RATE_LIMITED,
    Fault.BAD_KEY_IN_WORDS: RegistrarFailure.AUTH_FAILED,
    Fault.ODD: RegistrarFailure.MALFORMED,
}
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


class RegistrarSuite:
    """A registrar's tests: inherit it, name the registrar, and add the rows of its documented examples."""

    provider: ClassVar[str]
    rows: ClassVar[Rows]  # of the file of the registrar in the folder
    folder: ClassVar[Path] = RECORDED
    switch_on: ClassVar[Request]  # the request that sets auto-renew of a.com, where the registrar has one
    switch_off: ClassVar[Request]
    switched: ClassVar[str] = "{}"  # the response to it

    def test_the_adapter_is_named_after_its_module(self) -> None:
        assert ADAPTERS[self.provider].profile.provider == FAKES[self.provider].provider == self.provider

    def test_the_adapter_names_its_sources_with_their_days(self) -> None:
        sources = ADAPTERS[self.provider].profile.sources
        assert any(each.is_vendor for each in sources)
        assert all(re.fullmatch(r"2\d{3}-\d\d(-\d\d)?", each.read_on) for each in sources)
        assert all(each.url.startswith("https://") and each.topics for each in sources)

    def test_the_adapter_is_one_short_file(self) -> None:
        assert len(Path(inspect.getfile(ADAPTERS[self.provider])).read_text().splitlines()) <= MAX_LINES

    async def test_the_documented_examples_are_read_as_rows(self) -> None:
        clock.move(READ_ON - clock.now())  # an example that expires later has not expired
        recorded = tomllib.loads((self.folder / f"{self.provider}.toml").read_text())
        assert recorded["page"].startswith("https://")
        replay = Replay(recorded["responses"], ends=recorded.get("ends"), headers=recorded.get("headers"))
        adapter = adapter_of(self.provider, replay)
        listed = [listings.cleaned(each) for each in await list_all(adapter)]
        assert listed == self.rows.held
        if adapter.reads_one_domain():
            held = await adapter.get_domain(self.rows.held[0].domain)
            assert listings.cleaned(held) == self.rows.detail
        assert (self.rows.detail is not None) == adapter.reads_one_domain()
        assert bool(self.rows.charges) == adapter.profile.capabilities.billing
        if self.rows.charges:
            pages = [page async for page in adapter.list_charges(since=SINCE, until=UNTIL)]
            assert [line for page in pages for line in page] == self.rows.charges

    @pytest.mark.parametrize("enabled", [True, False])
    async def test_auto_renew_is_set_by_one_request(self, enabled: bool) -> None:
        recorder = Recorder(answer(self.switched))
        adapter = requests_make.adapter_of(self.provider, recorder)
        if not adapter.profile.capabilities.set_auto_renew:
            with pytest.raises(RegistrarFailed):
                await adapter.set_auto_renew("a.com", enabled=enabled)
            assert recorder.sent == []
            return
        await adapter.set_auto_renew("a.com", enabled=enabled)
        sent = recorder.sent[-1]  # behind those that read the other settings
        assert (sent.method, sent.path, sent.json) == (self.switch_on if enabled else self.switch_off)
        assert len(recorder.sent) == 1 + FAKES[self.provider].reads_before_switch

    @one_of(PAGES)
    async def test_lists_every_domain_once(self, connect: Connect, behavior: Behavior) -> None:
        size = FAKES[self.provider].page_size + PAGES[behavior]
        fake = fake_of(self.provider, *(domain(f"d{n:04d}.example") for n in range(size)))
        adapter = connect(fake)
        assert [held.domain for held in await list_all(adapter)] == [f"d{n:04d}.example" for n in range(size)]

    @plays(Behavior.CAPPED_PAGES)
    async def test_a_short_page_is_not_taken_for_the_last_one(self, connect: Connect) -> None:
        if reason := find_reason(Behavior.CAPPED_PAGES, self.provider):
            pytest.skip(reason)
        names = [f"d{n:04d}.example" for n in range(7)]
        fake = fake_of(self.provider, *map(domain, names))
        fake.account.most_rows = 3  # whatever the request asks for
        assert [held.domain for held in await list_all(connect(fake))] == names

    @plays(Behavior.TRUNCATED_PAGE)
    async def test_a_list_that_lacks_a_domain_is_not_complete(self, connect: Connect) -> None:
        if reason := find_reason(Behavior.TRUNCATED_PAGE, self.provider):
            pytest.skip(reason)
        names = [f"d{n:04d}.example" for n in range(7)]
        fake = fake_of(self.provider, *map(domain, names))
        fake.account.most_rows, fake.account.is_truncated = 3, True
        listed, failure = list[str](), None
        try:
            async for page in connect(fake).list_domains():
                listed.extend(held.domain for held in page)
        except RegistrarFailed as failed:
            failure = failed.kind
        # Either the next page begins with the domain, or the list is known to lack it.
        assert (listed, failure) in [(names, None), (names[:2] + names[3:], RegistrarFailure.INCOMPLETE)]

    @plays(Behavior.EMPTY_LIST)
    async def test_lists_nothing_of_an_empty_account(self, connect: Connect) -> None:
        adapter = connect(fake_of(self.provider))
        assert await list_all(adapter) == []
        await adapter.verify()

    @plays(Behavior.AUTO_RENEW, Behavior.LOCK, Behavior.OTHER_SCRIPT, Behavior.NO_EXPIRY)
    async def test_reads_what_the_list_says(self, connect: Connect) -> None:
        off = domain("off.example", auto_renew=False, locked=False, privacy=False)
        fake = fake_of(
            self.provider, domain("on.example"), off, domain(IDN), domain("never.example", expires_at=None)
        )
        adapter = connect(fake)
        held = {each.domain: each for each in await list_all(adapter)}
        on, off_row, never = held["on.example"], held["off.example"], held["never.example"]
        assert on.expires_at is not None
        assert abs(on.expires_at - EXPIRES) < timedelta(days=1)  # some registrars give a date only
        assert never.expires_at is None
        assert IDN in held
        renews, locks = (find_reason(each, self.provider) is None for each in (Behavior.AUTO_RENEW, Behavior.LOCK))
        assert (on.auto_renew, off_row.auto_renew) == ((True, False) if renews else (None, None))
        assert (on.locked, off_row.locked) == ((True, False) if locks else (None, None))
        assert on.privacy in {True, None}
        assert off_row.privacy in {False, None}

    @plays(Behavior.PRICES)
    async def test_reads_the_price_of_a_renewal(self, connect: Connect) -> None:
        held = await list_all(connect(fake_of(self.provider, domain("one.example"), domain("two.example"))))
        is_offered = find_reason(Behavior.PRICES, self.provider) is None
        price = Money(Decimal("10.98"), FAKES[self.provider].currency) if is_offered else None
        assert [each.renewal_price for each in held] == [price, price]

    @plays(Behavior.EXPIRED)
    async def test_reads_an_expired_domain(self, connect: Connect) -> None:
        past = datetime(2026, 1, 1, tzinfo=UTC)
        adapter = connect(fake_of(self.provider, domain("old.example", state="expired", expires_at=past)))
        [held] = await list_all(adapter)
        assert held.status is HeldStatus.EXPIRED
        assert held.expires_at is not None
        assert held.expires_at.date() == past.date()

    @plays(Behavior.CALLED_ACTIVE)
    async def test_an_expiry_that_has_passed_is_a_state(self, connect: Connect) -> None:
        past = domain("past.example", expires_at=datetime(2014, 4, 8, tzinfo=UTC))
        held = await list_all(connect(fake_of(self.provider, past, domain("present.example"))))
        assert [each.status is HeldStatus.EXPIRED for each in held] == [True, False]

    @plays(Behavior.ON_HOLD)
    async def test_a_suspension_is_a_state(self, connect: Connect) -> None:
        if reason := find_reason(Behavior.ON_HOLD, self.provider):
            pytest.skip(reason)
        [held] = await list_all(connect(fake_of(self.provider, domain("held.example", state="suspended"))))
        assert held.status is HeldStatus.SUSPENDED

    @plays(Behavior.WRONG_DATES)
    async def test_a_date_that_no_domain_has_is_named_and_not_taken(self, connect: Connect) -> None:
        for at in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
            wrong = domain("wrong.example", expires_at=at, created_at=at)
            fake = fake_of(self.provider, wrong, domain("right.example"))
            held = {each.domain: each for each in await list_all(connect(fake))}
            found, right = held["wrong.example"], held["right.example"]
            assert (found.expires_at, found.created_at, found.status) == (None, None, right.status)
            assert ("expires_at" in found.unread, right.unread) == (True, ())

    @plays(Behavior.BAD_ROW)
    async def test_a_row_that_cannot_be_read_never_stops_the_others(self, connect: Connect) -> None:
        names = ["a.example", "z.example"]
        fake = fake_of(self.provider, domain(names[0]), domain("x" * 300), domain(names[1]))
        listed, failed = await until_failure(connect(fake).list_domains())
        assert ([held.domain for held in listed], failed.kind) == (names, RegistrarFailure.INCOMPLETE)
        assert [each.item for each in failed.unread] == ["x" * 80]
        assert "x" * 80 in str(failed.hint)

    @plays(Behavior.ONE_DOMAIN, Behavior.OTHER_DOMAIN)
    async def test_finds_one_domain(self, connect: Connect) -> None:
        fake = fake_of(self.provider, domain("one.example"), domain(IDN))
        adapter = connect(fake)
        assert (await adapter.get_domain(IDN)).domain == IDN
        with pytest.raises(RegistrarFailed) as failed:
            await adapter.get_domain("other.example")
        assert failed.value.kind is RegistrarFailure.NOT_FOUND

    @plays(Behavior.WRONG_CREDENTIALS)
    async def test_refuses_wrong_credentials(self, connect: Connect) -> None:
        wrong = {name: f"{value}-wrong" for name, value in FAKES[self.provider].credentials.items()}
        adapter = connect(fake_of(self.provider), wrong)
        with pytest.raises(RegistrarFailed) as failed:
            await adapter.verify()
        assert failed.value.kind is RegistrarFailure.AUTH_FAILED
        assert failed.value.hint
        assert not any(value in repr(failed.value) + str(failed.value.hint) for value in wrong.values())

    @one_of(FAULTS)
    async def test_maps_a_lasting_fault(self, connect: Connect, behavior: Behavior) -> None:
        fake, fault = fake_of(self.provider, domain("one.example")), FAULTS[behavior]
        if reason := find_reason(behavior, self.provider):
            pytest.skip(reason)
        fake.account.faults.extend([fault] * 5)
        adapter = connect(fake)
        with pytest.raises(RegistrarFailed) as failed:
            await list_all(adapter)
        assert failed.value.kind is KINDS[fault]
        waits = pytest.approx(WAIT_S, abs=5) if fault is Fault.RATE_LIMITED else None
        assert failed.value.retry_after_s == waits

    @one_of(PASSING)
    async def test_repeats_a_read_after_a_passing_fault(self, connect: Connect, behavior: Behavior) -> None:
        fake = fake_of(self.provider, domain("one.example"))
        fake.account.faults.append(PASSING[behavior])
        adapter = connect(fake)
        assert [held.domain for held in await list_all(adapter)] == ["one.example"]

    @plays(Behavior.AUTH_CODE)
    async def test_gives_the_auth_code_or_says_how_it_is_delivered(self, connect: Connect) -> None:
        adapter = connect(fake_of(self.provider, domain("one.example")))
        given = await adapter.get_auth_code("one.example")
        assert given.delivery is adapter.profile.capabilities.auth_code
        is_returned = find_reason(Behavior.AUTH_CODE, self.provider) is None
        assert is_returned == (given.delivery is AuthCodeDelivery.RETURNED)
        assert given.code == ("Fake-Auth-Code-1" if is_returned else None)
        assert "Fake-Auth-Code-1" not in repr(given)

    @one_of(TRANSFERS)
    async def test_reads_an_incoming_transfer(self, connect: Connect, behavior: Behavior) -> None:
        fake, state = fake_of(self.provider), TRANSFERS[behavior]
        fake.account.transfers = [
            FakeTransfer(domain="in.example", direction="in", state=state, started_at=CREATED)
        ]
        adapter = connect(fake)
        reason = find_reason(behavior, self.provider)
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

    @plays(Behavior.CHARGES)
    async def test_reads_the_charges_of_a_period(self, connect: Connect) -> None:
        fake = fake_of(self.provider, domain("one.example"), domain("two.example"), domain(IDN))
        fake.account.orders = list(ORDERS)
        adapter = connect(fake)
        if find_reason(Behavior.CHARGES, self.provider):
            with pytest.raises(RegistrarFailed) as failed:
                adapter.list_charges(since=CHARGED_ON, until=date(2026, 3, 31))
            assert failed.value.kind is RegistrarFailure.UNSUPPORTED
            return
        lines = [
            line async for page in adapter.list_charges(since=CHARGED_ON, until=date(2026, 3, 31)) for line in page
        ]
        assert sum(line.total for line in lines) == Decimal("18.02" if fake.has_refunds else "30.36")
        assert len({(line.order_id, line.line_id) for line in lines}) == len(lines) == 3 + fake.has_refunds
        by_name = {a_label(line.domains[0]): line for line in lines if line.total > 0}
        assert by_name.keys() == {"one.example", "two.example", IDN}
        kinds = [by_name[name].kind for name in ("one.example", "two.example", IDN)]
        assert kinds == [ChargeKind.RENEWAL, ChargeKind.REGISTRATION, ChargeKind.TRANSFER]
        refunds = [line.kind for line in lines if line.total < 0]
        assert refunds == [ChargeKind.REFUND] * fake.has_refunds
        assert {line.currency for line in lines} == {"USD"}

    @plays(Behavior.SET_AUTO_RENEW, Behavior.WRITE_ONCE)
    async def test_switches_auto_renew(self, connect: Connect) -> None:
        fake = fake_of(self.provider, domain("one.example", auto_renew=False))
        adapter = connect(fake)
        if find_reason(Behavior.SET_AUTO_RENEW, self.provider):
            with pytest.raises(RegistrarFailed):
                await adapter.set_auto_renew("one.example", enabled=True)
            return
        await adapter.set_auto_renew("one.example", enabled=True)
        assert fake.account.domains[0].auto_renew
        fake.account.faults.extend([*[None] * fake.reads_before_switch, Fault.SERVER_ERROR])
        with pytest.raises(RegistrarFailed) as failed:  # a write is not repeated
            await adapter.set_auto_renew("one.example", enabled=False)
        assert failed.value.kind is RegistrarFailure.UNAVAILABLE
        assert fake.account.domains[0].auto_renew

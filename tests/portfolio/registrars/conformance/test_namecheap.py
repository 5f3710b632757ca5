"""Namecheap against the suite of all registrars, and its codes, its two locks and its transfers."""

from dataclasses import replace
from decimal import Decimal

import pytest

from builders.kit.values.money import Money
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import TransferState
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import RegistrarSuite, domain, fake_of, list_all
from tests.portfolio.registrars.recorded_make import ACTIVE, EXPIRED, Replay, Rows, adapter_of, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of as recording

EXAMPLE = held(
    "example.com",
    "2016-02-15",
    "2027-02-15",
    auto_renew=False,
    privacy=True,
    status=ACTIVE,
)  # a premium domain, whose price is not that of its suffix
# The global error codes of www.namecheap.com/support/api/global-parameters.
CODES = {
    "1010101": RegistrarFailure.AUTH_FAILED,
    "1030408": RegistrarFailure.AUTH_FAILED,
    "1010102": RegistrarFailure.AUTH_FAILED,
    "1011102": RegistrarFailure.AUTH_FAILED,
    "1010105": RegistrarFailure.IP_NOT_ALLOWED,
    "1011105": RegistrarFailure.IP_NOT_ALLOWED,
    "1050900": RegistrarFailure.UNAVAILABLE,
    "1011150": RegistrarFailure.IP_NOT_ALLOWED,
    "1017150": RegistrarFailure.IP_NOT_ALLOWED,
    "1017105": RegistrarFailure.IP_NOT_ALLOWED,
    "1017101": RegistrarFailure.RESTRICTED,
    "1017103": RegistrarFailure.RESTRICTED,
    "1017410": RegistrarFailure.RESTRICTED,
    "1017411": RegistrarFailure.RATE_LIMITED,
    "1019103": RegistrarFailure.AUTH_FAILED,
    "1016103": RegistrarFailure.AUTH_FAILED,
}
TRANSFERS = """
    <ApiResponse xmlns="http://api.namecheap.com/xml.response" Status="OK"><CommandResponse><TransferGetListResult>
      <Transfer ID="59" Domainname="example.com" User="apiexample" TransferDate="02/15/2026" OrderID="32060156"
        StatusID="20" Status="WAITINGFOREPP" StatusDate="03/27/2026" StatusDescription="Awaiting the EPP code"/>
    </TransferGetListResult></CommandResponse></ApiResponse>
""".strip()


class TestNamecheap(RegistrarSuite):
    provider = "namecheap"
    rows = Rows(
        held=[
            EXAMPLE,
            held(
                *("example.net", "2016-04-28", "2023-04-28"),
                auto_renew=True,
                privacy=False,
                status=EXPIRED,
                renewal_price=Money(Decimal("13.98"), "USD"),
            ),
        ],
        detail=replace(EXAMPLE, locked=True),
    )

    async def test_the_lock_of_changes_is_not_the_registrar_lock(self, connect: Connect) -> None:
        adapter = connect(fake_of("namecheap", domain("one.example", locked=False, is_change_locked=True)))
        [listed] = await list_all(adapter)
        assert (listed.locked, (await adapter.get_domain("one.example")).locked) == (None, False)

    @pytest.mark.parametrize("code", CODES)
    def test_a_global_code_means_what_its_page_says(self, code: str) -> None:
        assert recording("namecheap", Recorder()).failure(code).kind is CODES[code]

    async def test_a_transfer_is_read_as_its_page_shows_it(self) -> None:
        found = await adapter_of("namecheap", Replay({"/xml.response": TRANSFERS})).find_transfer("example.com")
        assert found is not None
        assert (found.state, found.message) == (TransferState.ACTION_REQUIRED, "Awaiting the EPP code")

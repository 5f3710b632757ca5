"""Spaceship against the suite of all registrars."""

import pytest

from builders.demo.registrars.fake import FakeAccount
from builders.portfolio.registrars.api_client import ATTEMPTS
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import HeldStatus
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import RegistrarSuite, domain
from tests.portfolio.registrars.recorded_make import EXPIRED, Rows, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer
from tests.registrars.apis.spaceship import FakeSpaceship

SPACESHIP = {"created": "2022-01-01", "expires": "2027-01-01"}


class TestSpaceship(RegistrarSuite):
    provider = "spaceship"
    rows = Rows(
        held=[
            held(
                "xn--spceship-9ya.com",
                **SPACESHIP,
                auto_renew=False,
                locked=True,
                privacy=True,
                status=HeldStatus.SUSPENDED,
                status_raw="registered, raaVerification",
                nameservers=["ns1.exampledomain.com", "ns2.exampledomain.com"],
            )
        ],
        detail=held(
            "xn--spceship-9ya.com",
            **SPACESHIP,
            auto_renew=True,
            locked=False,
            privacy=False,
            status=EXPIRED,
            status_raw="grace1",
            nameservers=["ns1.exampledomain.com"],
        ),
    )
    switch_on = ("PUT", "/domains/a.com/autorenew", {"isEnabled": True})
    switch_off = ("PUT", "/domains/a.com/autorenew", {"isEnabled": False})

    @pytest.mark.parametrize(
        ("state", "kind"),
        [("success", None), ("failed", RegistrarFailure.REFUSED), ("pending", RegistrarFailure.UNAVAILABLE)],
    )
    async def test_an_operation_that_takes_time_is_followed(
        self, connect: Connect, state: str, kind: RegistrarFailure | None
    ) -> None:
        fake = FakeSpaceship(FakeAccount(domains=[domain("one.example", auto_renew=False)]))
        fake.operation, found = state, None
        try:
            await connect(fake).set_auto_renew("one.example", enabled=True)
        except RegistrarFailed as failed:
            found = failed.kind
        assert found is kind
        assert fake.account.requests == 1 + (ATTEMPTS if state == "pending" else 1)  # the change is sent once

    @pytest.mark.parametrize("operation", ["", "a/b", "x" * 37])
    async def test_an_operation_without_an_identifier_is_malformed(self, operation: str) -> None:
        accepted = answer("", status=202, spaceship_async_operationid=operation)
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("spaceship", Recorder(accepted)).set_auto_renew("a.com", enabled=True)
        assert failed.value.kind is RegistrarFailure.MALFORMED

    async def test_a_refusal_shows_the_text_of_the_registrar(self) -> None:
        refusal = answer('{"detail": "The domain has expired."}', status=422)
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("spaceship", Recorder(refusal)).set_auto_renew("a.com", enabled=True)
        assert failed.value.hint == "Spaceship: The domain has expired."

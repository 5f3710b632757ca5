"""Cloudflare against the suite of all registrars."""

import json

import pytest

from builders.demo.registrars.fake import FakeAccount
from builders.portfolio.registrars.api_client import ATTEMPTS
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import Environment, HeldStatus
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.portfolio.registrars.conformance.suite import RegistrarSuite, domain
from tests.portfolio.registrars.recorded_make import EXPIRED, OFF, ON, Rows, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer
from tests.registrars.apis.cloudflare import FakeCloudflare

PATH = "/registrations/a.com"


class TestCloudflare(RegistrarSuite):
    provider = "cloudflare"
    rows = Rows(
        held=[
            held(
                "example.com",
                "2025-01-15 10:00:00",
                "2026-01-15 10:00:00",
                **ON,
                status=EXPIRED,
                status_raw="active",
            ),
            held(
                "example.dev",
                "2025-03-20 14:30:00",
                None,
                **OFF,
                status=HeldStatus.PENDING,
                status_raw="registration_pending",
            ),
        ]
    )
    switched = '{"success": true, "result": {"state": "succeeded", "completed": true, "error": null}}'
    switch_on = ("PATCH", PATH, {"auto_renew": True})
    switch_off = ("PATCH", PATH, {"auto_renew": False})

    @pytest.mark.parametrize(
        ("state", "kind", "requests"),
        [
            ("succeeded", None, 1),
            ("failed", RegistrarFailure.REFUSED, 1),
            ("action_required", RegistrarFailure.REFUSED, 1),
            ("in_progress", RegistrarFailure.UNAVAILABLE, 1 + ATTEMPTS),
            ("blocked", RegistrarFailure.UNAVAILABLE, 1 + ATTEMPTS),
        ],
    )
    async def test_a_change_that_takes_time_is_followed(
        self, connect: Connect, state: str, kind: RegistrarFailure | None, requests: int
    ) -> None:
        fake = FakeCloudflare(FakeAccount(domains=[domain("one.example", auto_renew=False)]))
        fake.state, found = state, None
        try:
            await connect(fake).set_auto_renew("one.example", enabled=True)
        except RegistrarFailed as failed:
            found = failed.kind
        assert (found, fake.account.requests) == (kind, requests)

    async def test_a_refusal_shows_the_text_of_the_registrar(self) -> None:
        body = {"success": False, "errors": [{"code": 1004, "message": "The domain has expired."}]}
        adapter = adapter_of("cloudflare", Recorder(answer(json.dumps(body), status=400)))
        with pytest.raises(RegistrarFailed) as failed:
            await adapter.set_auto_renew("a.com", enabled=True)
        assert failed.value.hint == "Cloudflare Registrar: The domain has expired."

    @pytest.mark.parametrize(
        ("environment", "account_id", "url"),
        [
            (Environment.LIVE, "0123", "https://api.cloudflare.com/client/v4/accounts/0123/registrar"),
            (Environment.SANDBOX, "0123", "https://api.cloudflare.com/client/v4/accounts/0123/registrar-sandbox"),
            (Environment.LIVE, "a/../b", "https://api.cloudflare.com/client/v4/accounts/a%2F..%2Fb/registrar"),
        ],
    )
    def test_the_sandbox_is_another_path(self, environment: Environment, account_id: str, url: str) -> None:
        assert ADAPTERS["cloudflare"].base_url_of(environment, credentials={"account_id": account_id}) == url

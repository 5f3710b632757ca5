"""INWX against the suite of all registrars."""

import json
from typing import Any

import pytest

from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import AuthCode, HeldStatus
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, END, LEAP, NS, Rows, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

PATH = "/jsonrpc/"
LOGIN = {"method": "account.login", "params": {"user": "inwx-demo", "pass": "inwx-demo-password"}}
BOOK = held(
    *("xn--bcher-kva.example", LEAP, END),
    auto_renew=True,
    locked=True,
    status=ACTIVE,
    status_raw="OK",
    nameservers=NS,
)


def said(content: Any = None, *, code: int = 1000, reason: str = "", cookie: str = "domrobot=s1; path=/") -> Any:
    """A response, which opens a session where it answers a login."""
    body = {"code": code, "msg": "Message", "resData": content, **({"reason": reason} if reason else {})}
    return answer(json.dumps(body), Set_Cookie=cookie)


class TestInwx(RegistrarSuite):
    provider = "inwx"
    rows = Rows(
        held=[
            BOOK,
            held(
                *("example.net", LEAP, None),
                auto_renew=False,
                locked=False,
                status=HeldStatus.REDEMPTION,
                status_raw="DELETE INITIATED",
            ),
        ],
        detail=BOOK,
    )

    @pytest.mark.parametrize(("enabled", "mode"), [(True, "AUTORENEW"), (False, "AUTOEXPIRE")])
    async def test_auto_renew_is_set_by_one_request(self, enabled: bool, mode: str) -> None:  # type: ignore[override] # the requests of a session
        recorder = Recorder(said({"tfa": "0"}), said())
        adapter = adapter_of("inwx", recorder)
        for _ in range(2):  # the session stays
            await adapter.set_auto_renew("a.com", enabled=enabled)
        update = {"method": "domain.update", "params": {"domain": "a.com", "renewalMode": mode}}
        assert [(each.method, each.path, each.json) for each in recorder.sent] == [
            ("POST", PATH, each) for each in (LOGIN, update, update)
        ]
        assert [each.headers.get("Cookie") for each in recorder.sent] == [None, "domrobot=s1", "domrobot=s1"]

    async def test_an_account_with_a_second_factor_is_refused(self) -> None:
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("inwx", Recorder(said({"tfa": "GOOGLE-AUTH"}))).verify()
        assert failed.value.kind is RegistrarFailure.AUTH_FAILED
        assert "second factor" in str(failed.value.hint)

    @pytest.mark.parametrize("cookie", ["", "; path=/", "domrobot=a\tb", "domrobot=\u00fc"])
    async def test_a_login_without_a_session_is_malformed(self, cookie: str) -> None:
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("inwx", Recorder(said({"tfa": "0"}, cookie=cookie))).verify()
        assert failed.value.kind is RegistrarFailure.MALFORMED

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            (2200, RegistrarFailure.AUTH_FAILED),
            (2303, RegistrarFailure.NOT_FOUND),
            (2304, RegistrarFailure.REFUSED),
            (2500, RegistrarFailure.UNAVAILABLE),
            (2502, RegistrarFailure.RATE_LIMITED),
        ],
    )
    async def test_the_code_of_an_error(self, code: int, kind: RegistrarFailure) -> None:
        recorder = Recorder(said({"tfa": "0"}), said(code=code, reason="The domain has the 60-day lock."))
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("inwx", recorder).set_auto_renew("a.com", enabled=True)
        assert (failed.value.kind, failed.value.code) == (kind, str(code))
        is_shown = "The domain has the 60-day lock." in str(failed.value.hint)
        assert is_shown == (kind is RegistrarFailure.REFUSED)

    async def test_a_code_needs_the_role_for_it(self) -> None:
        shown = adapter_of("inwx", Recorder(said({"tfa": "0"}), said({"authCode": "x1"})))
        assert await shown.get_auth_code("a.com") == AuthCode(code="x1")
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of("inwx", Recorder(said({"tfa": "0"}), said({}))).get_auth_code("a.com")
        assert failed.value.kind is RegistrarFailure.REFUSED

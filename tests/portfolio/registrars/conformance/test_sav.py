"""Sav against the suite of all registrars."""

import json

import pytest

from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from tests.portfolio.registrars.conformance.suite import RegistrarSuite
from tests.portfolio.registrars.recorded_make import ACTIVE, END, LEAP, NS, Rows, held
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

DOMAIN = {"domain_name": "a.com"}


class TestSav(RegistrarSuite):
    provider = "sav"
    rows = Rows(
        held=[
            held(
                *("example.com", LEAP, END),
                auto_renew=False,
                privacy=True,
                status=ACTIVE,
                status_raw="active",
                nameservers=NS,
            ),
            held(
                *("xn--bcher-kva.example", LEAP, None),
                auto_renew=True,
                privacy=False,
                status_raw="a_new_word",
                nameservers=NS[:1],
            ),
        ]
    )
    switch_on = switch_off = ("GET", "/update_domain_auto_renewal", None)
    switched = '{"auth_success": true, "request_success": true, "response": {}}'

    @pytest.mark.parametrize(("enabled", "word"), [(True, "1"), (False, "0")])
    async def test_the_query_names_the_domain_and_the_switch(self, enabled: bool, word: str) -> None:
        recorder = Recorder(answer(self.switched))
        await adapter_of("sav", recorder).set_auto_renew("a.com", enabled=enabled)
        assert recorder.sent[0].query == {"domain_name": "a.com", "enabled": word}

    @pytest.mark.parametrize("count", [{"domain_count": 2}, {}])
    async def test_a_list_with_another_number_of_domains_than_it_names_is_incomplete(
        self, count: dict[str, int]
    ) -> None:
        body = {"auth_success": True, "request_success": True, "response": {"domains": [DOMAIN], **count}}
        pages = aiter(adapter_of("sav", Recorder(answer(json.dumps(body)))).list_domains())
        assert [each.domain for each in await anext(pages)] == ["a.com"]
        with pytest.raises(RegistrarFailed) as failed:
            await anext(pages)
        assert failed.value.kind is RegistrarFailure.INCOMPLETE

    @pytest.mark.parametrize(
        ("text", "kind", "hint"),
        [
            ("Could not find domain in your account", RegistrarFailure.NOT_FOUND, None),
            ("The domain is locked.", RegistrarFailure.REFUSED, "Sav: The domain is locked."),
        ],
    )
    async def test_a_refusal_shows_the_text_of_the_registrar(
        self, text: str, kind: RegistrarFailure, hint: str | None
    ) -> None:
        body = {"auth_success": True, "request_success": False, "error_message": text}
        adapter = adapter_of("sav", Recorder(answer(json.dumps(body), status=400)))
        with pytest.raises(RegistrarFailed) as failed:
            await adapter.set_auto_renew("a.com", enabled=True)
        assert (failed.value.kind, failed.value.hint) == (kind, hint)

"""What a registrar's error means, when a request is sent again, and what remedies a failure names."""

import json
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from builders.kit.outbound.client import Failure, OutboundFailed
from builders.kit.values import clock
from builders.portfolio.registrars.adapter import MAX_TEXT
from builders.portfolio.registrars.api_client import ATTEMPTS
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.requests_make import Recorder, adapter_of, answer

AUTH, RESTRICTED = RegistrarFailure.AUTH_FAILED, RegistrarFailure.RESTRICTED
ADDRESS, LIMITED = RegistrarFailure.IP_NOT_ALLOWED, RegistrarFailure.RATE_LIMITED
UNAVAILABLE, MALFORMED = RegistrarFailure.UNAVAILABLE, RegistrarFailure.MALFORMED
NOT_FOUND, REFUSED = RegistrarFailure.NOT_FOUND, RegistrarFailure.REFUSED
PAGE = json.dumps({"items": [], "total": 0})  # of Spaceship


def namecheap(number: str, text: str = "no") -> str:
    error = f'<Errors><Error Number="{number}">{text}</Error></Errors>'
    return f'<ApiResponse xmlns="http://api.namecheap.com/xml.response" Status="ERROR">{error}</ApiResponse>'


def namesilo(code: str) -> str:
    return f"<namesilo><reply><code>{code}</code><detail>no</detail></reply></namesilo>"


def porkbun(code: str | None, message: str = "no") -> str:
    return json.dumps({"status": "ERROR", "message": message, **({} if code is None else {"code": code})})


def dynadot(status: int, code: int | None) -> str:
    return json.dumps({"code": status, **({} if code is None else {"error": {"code": code}})})


def route53(kind: str, message: str = "no") -> str:
    return json.dumps({"__type": f"com.amazonaws#{kind}", "message": message})


def cloudflare(*codes: int) -> str:
    return json.dumps({"success": False, "errors": [{"code": code} for code in codes]})


# Registrar, status and body of the response; the failure, and the registrar's own code.
ERRORS: list[tuple[str, int, str, RegistrarFailure, str | None]] = [
    ("cloudflare", 403, cloudflare(10000), AUTH, "10000"),
    ("cloudflare", 404, cloudflare(10001), NOT_FOUND, "10001"),
    ("cloudflare", 200, cloudflare(1004, 1005), REFUSED, "1004"),
    ("cloudflare", 400, cloudflare(), REFUSED, None),
    ("cloudflare", 400, cloudflare(6003), AUTH, "6003"),
    ("cloudflare", 403, cloudflare(971), LIMITED, "971"),
    ("cloudflare", 200, "[]", MALFORMED, None),
    ("dynadot", 200, dynadot(401, None), AUTH, "401"),
    ("dynadot", 200, dynadot(200, 41000), REFUSED, "41000"),
    ("dynadot", 403, dynadot(200, None), AUTH, "403"),
    ("dynadot", 404, dynadot(404, 7), NOT_FOUND, "7"),
    ("gandi", 401, "{}", AUTH, "401"),
    ("gandi", 403, "{}", AUTH, "403"),
    ("gandi", 404, "{}", NOT_FOUND, "404"),
    ("gandi", 400, "{}", REFUSED, "400"),
    ("gandi", 200, "<html>", UNAVAILABLE, "200"),
    ("gandi", 403, "{", MALFORMED, None),
    ("gandi", 401, "", AUTH, "401"),
    ("godaddy", 401, '{"code": "UNABLE_TO_AUTHENTICATE"}', AUTH, "UNABLE_TO_AUTHENTICATE"),
    ("godaddy", 403, '{"code": "ACCESS_DENIED"}', RESTRICTED, "ACCESS_DENIED"),
    ("godaddy", 403, '{"code": "OTHER"}', AUTH, "OTHER"),
    ("godaddy", 422, '{"code": "INVALID_VALUE"}', REFUSED, "INVALID_VALUE"),
    ("godaddy", 400, "{}", REFUSED, "400"),
    ("godaddy", 404, '{"code": "UNKNOWN_DOMAIN"}', NOT_FOUND, "UNKNOWN_DOMAIN"),
    ("inwx", 200, '{"code": 2201}', RESTRICTED, "2201"),
    ("inwx", 200, '{"code": 2400}', UNAVAILABLE, "2400"),
    ("inwx", 200, '{"code": 2502}', LIMITED, "2502"),
    ("namecheap", 200, namecheap("1011150"), ADDRESS, "1011150"),
    ("namecheap", 200, namecheap("1011102"), AUTH, "1011102"),
    ("namecheap", 200, namecheap("1010101"), AUTH, "1010101"),
    ("namecheap", 200, namecheap("1017101"), RESTRICTED, "1017101"),
    ("namecheap", 200, namecheap("5050900"), UNAVAILABLE, "5050900"),
    ("namecheap", 200, namecheap("2019166"), NOT_FOUND, "2019166"),
    ("namecheap", 200, namecheap("1"), REFUSED, "1"),
    ("namecheap", 405, "<html>", LIMITED, None),
    ("namecheap", 200, "<html>", UNAVAILABLE, "200"),
    ("namecheap", 200, "<html><body/></html>", UNAVAILABLE, "200"),  # also XML
    ("namecheap", 200, "<Other/>", MALFORMED, None),
    ("namecheap", 200, namecheap("500000", "Too many requests"), LIMITED, "500000"),
    ("namecom", 401, "{}", AUTH, "401"),
    ("namecom", 404, "{}", NOT_FOUND, "404"),
    ("namesilo", 200, namesilo("110"), AUTH, "110"),
    ("namesilo", 200, namesilo("112"), AUTH, "112"),
    ("namesilo", 200, namesilo("113"), ADDRESS, None),
    ("namesilo", 200, namesilo("115"), UNAVAILABLE, "115"),
    ("namesilo", 200, namesilo("200"), NOT_FOUND, "200"),
    ("namesilo", 200, namesilo("999"), REFUSED, "999"),
    ("namesilo", 200, "<namesilo/>", MALFORMED, None),
    ("ovh", 403, "{}", AUTH, "403"),
    ("ovh", 403, '{"errorCode": "NOT_GRANTED_CALL"}', AUTH, "NOT_GRANTED_CALL"),
    ("ovh", 404, "{}", NOT_FOUND, "404"),
    ("porkbun", 400, porkbun("INVALID_API_KEYS_001"), AUTH, "INVALID_API_KEYS_001"),
    ("porkbun", 200, porkbun("API_KEY_REQUIRED"), AUTH, "API_KEY_REQUIRED"),
    ("porkbun", 200, porkbun("INVALID_DOMAIN"), NOT_FOUND, "INVALID_DOMAIN"),
    ("porkbun", 200, porkbun("INVALID_START"), REFUSED, "INVALID_START"),
    ("porkbun", 403, porkbun(None), AUTH, ""),
    ("porkbun", 400, porkbun(None, "Invalid API key. (002)"), AUTH, ""),
    ("porkbun", 403, porkbun("IP_NOT_ALLOWED"), ADDRESS, None),
    ("porkbun", 403, porkbun("DOMAIN_NOT_ALLOWED"), REFUSED, "DOMAIN_NOT_ALLOWED"),
    ("route53", 400, route53("AccessDeniedException"), AUTH, "AccessDeniedException"),
    ("route53", 403, route53("SignatureDoesNotMatch"), AUTH, "SignatureDoesNotMatch"),
    ("route53", 400, route53("ThrottlingException"), LIMITED, "ThrottlingException"),
    ("route53", 400, route53("InvalidInput", "Domain a.com not found"), NOT_FOUND, "InvalidInput"),
    ("route53", 400, route53("InvalidInput"), REFUSED, "InvalidInput"),
    ("route53", 400, route53("TLDInMaintenance"), UNAVAILABLE, "TLDInMaintenance"),
    ("route53", 400, route53("InvalidInput", "Rate limit exceeded"), LIMITED, "InvalidInput"),
    ("spaceship", 401, "{}", AUTH, "401"),
    ("spaceship", 422, "{}", REFUSED, "422"),
    ("spaceship", 200, '{"items": []}', MALFORMED, None),
]


async def failure_of(provider: str, recorder: Recorder) -> RegistrarFailed:
    with pytest.raises(RegistrarFailed) as failed:
        await adapter_of(provider, recorder).verify()
    return failed.value


@pytest.mark.parametrize(
    ("provider", "status", "body", "kind", "code"), ERRORS, ids=[f"{each[0]} {each[2][:60]}" for each in ERRORS]
)
async def test_the_error_of_a_registrar(
    provider: str, status: int, body: str, kind: RegistrarFailure, code: str | None
) -> None:
    failed = await failure_of(provider, Recorder(answer(body, status=status)))
    assert (failed.kind, failed.code if kind is not ADDRESS else code) == (kind, code)


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_refused_credentials_name_the_remedy(provider: str) -> None:
    adapter = adapter_of(provider, Recorder())
    assert adapter.failure("x", status=401).hint == adapter.auth_hint


@pytest.mark.parametrize(
    ("provider", "code", "text"),
    [
        ("godaddy", "ACCESS_DENIED", "10 or more domains"),
        ("namecheap", "1017410", "declined payments"),
        ("namecheap", "1011102", "20 domains"),
        ("namecheap", "1011150", "Allow the address 192.0.2.10"),
        ("namesilo", "113", "API manager"),
    ],
)
def test_a_restriction_names_what_the_registrar_requires(provider: str, code: str, text: str) -> None:
    assert text in str(adapter_of(provider, Recorder()).failure(code).hint)


def test_a_refusal_in_the_words_of_the_registrar_shows_no_credential_and_is_one_short_line() -> None:
    adapter = adapter_of("dynadot", Recorder(), api_key="planted-key", api_secret="planted-secret")
    words = f"Key\0 planted-key\nof planted-secret is refused. {'x' * 1_000}"
    hint = str(adapter.failure("x", text=words).hint)
    assert hint.startswith("Dynadot: Key … of … is refused. xxx")
    assert len(hint) == len("Dynadot: ") + MAX_TEXT


async def test_a_refused_address_is_that_of_the_service() -> None:
    failed = await failure_of("namesilo", Recorder(answer(namesilo("113"))))
    assert str(failed.hint).endswith("allowed addresses: 192.0.2.17.")


# The header Retry-After of one response with 429, and whether the request is sent again.
@pytest.mark.parametrize(
    ("retry_after", "requests"), [("0", 2), ("2", 2), ("5", 2), ("6", 1), ("3600", 1), ("", 2), ("soon", 2)]
)
async def test_a_request_is_sent_again_after_a_short_wait_only(retry_after: str, requests: int) -> None:
    recorder = Recorder(answer(status=429, Retry_After=retry_after), answer(PAGE))
    adapter = adapter_of("spaceship", recorder)
    if requests == 1:
        with pytest.raises(RegistrarFailed):
            await adapter.verify()
    else:
        await adapter.verify()
    assert len(recorder.sent) == requests


@pytest.mark.parametrize(
    ("retry_after", "wait_s"), [("3600", 3600), ("172800", 86_400), ("soon", None), ("-5", None)]
)
async def test_a_failure_has_the_seconds_that_the_registrar_says(retry_after: str, wait_s: float | None) -> None:
    failed = await failure_of("spaceship", Recorder(answer(status=429, Retry_After=retry_after)))
    assert (failed.kind, failed.retry_after_s) == (LIMITED, wait_s)


async def test_a_date_says_until_when_to_wait() -> None:
    at = format_datetime(clock.now() + timedelta(minutes=10), usegmt=True)
    failed = await failure_of("spaceship", Recorder(answer(status=429, Retry_After=at)))
    assert failed.retry_after_s == pytest.approx(600, abs=5)


async def test_a_date_that_has_passed_means_at_once() -> None:
    at = format_datetime(clock.now() - timedelta(minutes=10), usegmt=True)
    recorder = Recorder(answer(status=429, Retry_After=at), answer(PAGE))
    await adapter_of("spaceship", recorder).verify()
    assert len(recorder.sent) == 2


# Bodies that say a rate limit: with the registrar's member for the seconds to wait, or without.
@pytest.mark.parametrize(
    ("provider", "status", "body", "wait_s"),
    [
        ("porkbun", 200, '{"status": "ERROR", "code": "RATE_LIMIT_EXCEEDED", "ttlRemaining": 42}', 42),
        ("godaddy", 429, '{"code": "TOO_MANY_REQUESTS", "retryAfterSec": 30}', 30),
        ("godaddy", 429, '{"code": "TOO_MANY_REQUESTS", "retryAfterSec": "soon"}', None),
        ("godaddy", 429, "[]", None),
        ("gandi", 403, "Rate limit exceeded", None),
        ("namesilo", 200, "Too many requests", None),
        ("namecheap", 200, namecheap("500000", "Too many requests"), None),
    ],
)
async def test_the_body_of_a_rate_limit_names_the_seconds(
    provider: str, status: int, body: str, wait_s: float | None
) -> None:
    recorder = Recorder(answer(body, status=status))
    failed = await failure_of(provider, recorder)
    assert (failed.kind, failed.retry_after_s) == (LIMITED, wait_s)
    assert len(recorder.sent) == (ATTEMPTS if wait_s is None else 1)


WAF = "\ufeff<!DOCTYPE html>\n<html lang=en><head><title>Just a moment...</title></head><body></body></html>"


# What proxies send that leave out the head of a page.
FRAGMENTS = [
    "<h1>401 Unauthorized</h1>",
    "<center>nginx</center>",
    "<title>Error</title>",
    "<style>p{}</style><p>",
]


@pytest.mark.parametrize("page", FRAGMENTS)
async def test_a_part_of_a_web_page_is_no_word_of_a_registrar_either(page: str) -> None:
    failed = await failure_of("gandi", Recorder(answer(page, status=401)))
    assert (failed.kind, failed.code) == (UNAVAILABLE, "401")


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_web_page_is_never_the_word_of_a_registrar(provider: str) -> None:
    for status in (200, 302, 400, 401, 403, 404, 503):
        recorder = Recorder(answer(WAF, status=status))
        failed = await failure_of(provider, recorder)
        assert (failed.kind, failed.code, len(recorder.sent)) == (UNAVAILABLE, str(status), ATTEMPTS)


@pytest.mark.parametrize(
    "first", [answer(status=500), answer(status=503), answer("{"), OutboundFailed(Failure.TIMEOUT)], ids=str
)
async def test_a_read_is_sent_again_after_a_passing_failure(first: Any) -> None:
    recorder = Recorder(first, answer(PAGE))
    await adapter_of("spaceship", recorder).verify()
    assert len(recorder.sent) == 2


@pytest.mark.parametrize(
    ("last", "kind"),
    [(answer(status=502), UNAVAILABLE), (answer("{"), MALFORMED), (OutboundFailed(Failure.TIMEOUT), UNAVAILABLE)],
    ids=["502", "half a body", "no answer"],
)
async def test_a_lasting_failure_ends_after_three_attempts(last: Any, kind: RegistrarFailure) -> None:
    recorder = Recorder(last)
    assert (await failure_of("spaceship", recorder)).kind is kind
    assert len(recorder.sent) == ATTEMPTS


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_sent_again(status: int) -> None:
    recorder = Recorder(answer(status=status))
    await failure_of("spaceship", recorder)
    assert len(recorder.sent) == 1


async def test_a_failure_without_an_answer_does_not_show_the_address() -> None:
    failed = await failure_of("namesilo", Recorder(OutboundFailed(Failure.TIMEOUT)))
    assert failed.__cause__ is None
    assert "key" not in f"{failed} {failed.hint}"


async def test_xml_with_entities_is_malformed() -> None:
    body = '<!DOCTYPE x [<!ENTITY a "b">]><namesilo><reply><code>300</code>&a;</reply></namesilo>'
    assert (await failure_of("namesilo", Recorder(answer(body)))).kind is MALFORMED

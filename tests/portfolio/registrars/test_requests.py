"""What each adapter sends to its registrar: credentials, pages, periods, auth codes and auto-renew."""

import hmac
import json
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, date, datetime
from hashlib import sha1
from typing import Any

import pytest

from builders.kit.values import clock
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import AuthCode, AuthCodeDelivery
from tests.portfolio.registrars.recorded_make import BASE
from tests.portfolio.registrars.requests_make import Recorder, Sent, adapter_of, answer
from tests.registrars.fakes import FAKES

MARCH = {"since": date(2026, 3, 1), "until": date(2026, 3, 31)}
ENABLES_AUTO_RENEW = [name for name, each in ADAPTERS.items() if each.profile.capabilities.set_auto_renew]
IN_QUERY = {"namecheap", "namesilo"}  # registrars whose API takes the key in the query


async def sent_by(provider: str, **credentials: str) -> Sent:
    """The request that verifies credentials, whatever comes back."""
    recorder = Recorder()
    with suppress(RegistrarFailed):
        await adapter_of(provider, recorder, **credentials).verify()
    return recorder.sent[0]


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        ("cloudflare", "Authorization", "Bearer cf-demo-token"),
        ("gandi", "Authorization", f"Bearer {FAKES['gandi'].credentials['token']}"),
        ("godaddy", "Authorization", "sso-key gd-demo:gd-demo-secret"),
        ("spaceship", "X-Api-Key", "ss-demo-key"),
        ("spaceship", "X-Api-Secret", "ss-demo-secret"),
        ("dynadot", "Authorization", f"Bearer {FAKES['dynadot'].credentials['api_key']}"),
        ("ovh", "X-Ovh-Application", "ovh-demo"),
        ("ovh", "X-Ovh-Consumer", "ovh-demo-consumer"),
    ],
)
async def test_credentials_are_sent_in_a_header(provider: str, header: str, value: str) -> None:
    assert (await sent_by(provider)).headers[header] == value


async def test_namecom_gets_user_and_token_as_http_basic() -> None:
    scheme, _, pair = (await sent_by("namecom")).headers["Authorization"].partition(" ")
    keys = FAKES["namecom"].credentials
    assert (scheme, b64decode(pair).decode()) == ("Basic", f"{keys['username']}:{keys['api_token']}")


async def test_porkbun_gets_both_keys_in_the_body() -> None:
    sent = await sent_by("porkbun")
    assert (sent.method, sent.headers["Content-Type"]) == ("POST", "application/json")
    assert sent.json == {"apikey": "pk1_demo", "secretapikey": "sk1_demo", "start": "0"}


async def test_namecheap_gets_its_four_credentials_in_the_query() -> None:
    keys, query = FAKES["namecheap"].credentials, (await sent_by("namecheap")).query
    sent = [query[name] for name in ("ApiUser", "ApiKey", "UserName", "ClientIp")]
    assert sent == [keys[name] for name in ("api_user", "api_key", "username", "client_ip")]


async def test_namesilo_gets_the_key_in_the_query() -> None:
    query = (await sent_by("namesilo")).query
    assert query["key"] == FAKES["namesilo"].credentials["api_key"]
    assert (query["version"], query["type"]) == ("1", "xml")


@pytest.mark.parametrize("provider", sorted(ADAPTERS.keys() - IN_QUERY))
async def test_no_secret_is_in_a_url(provider: str) -> None:
    secret = [each.name for each in ADAPTERS[provider].profile.credential_fields if each.is_secret]
    planted = {name: f"planted-{name}" for name in secret}
    assert "planted" not in (await sent_by(provider, **planted)).url


@pytest.mark.parametrize("shopper", ["42", ""])
async def test_godaddy_gets_the_shopper_where_there_is_one(shopper: str) -> None:
    assert (await sent_by("godaddy", shopper_id=shopper)).headers.get("X-Shopper-Id", "") == shopper


async def test_dynadot_gets_a_signature_of_key_and_path() -> None:
    keys, sent = FAKES["dynadot"].credentials, await sent_by("dynadot")
    text = f"{keys['api_key']}\n{sent.url.removeprefix(BASE)}\n\n"
    expected = b64encode(hmac.digest(keys["api_secret"].encode(), text.encode(), "sha256")).decode()
    assert sent.headers["X-Signature"] == expected


async def test_ovh_gets_a_signature_of_the_time_and_the_address() -> None:
    keys, sent = FAKES["ovh"].credentials, await sent_by("ovh")
    signed_at = sent.headers["X-Ovh-Timestamp"]
    assert abs(int(signed_at) - clock.now().timestamp()) < 5
    secrets = f"{keys['application_secret']}+{keys['consumer_key']}"
    text = f"{secrets}+GET+{BASE}/domain++{signed_at}"
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    assert sent.headers["X-Ovh-Signature"] == f"$1${digest}"


async def test_route53_gets_a_signature_for_its_region() -> None:
    authorization = (await sent_by("route53")).headers["Authorization"]
    scheme, _, rest = authorization.partition(" ")
    credential = rest.split(",")[0]
    assert scheme == "AWS4-HMAC-SHA256"
    assert credential.startswith("Credential=AKIADEMO/")
    assert credential.endswith("/us-east-1/route53domains/aws4_request")


# The response of a first page, and the query or body of the request for the second one.
PAGES: dict[str, tuple[Any, dict[str, str]]] = {
    "cloudflare": (
        {"success": True, "result": [{"domain_name": "a.com"}], "result_info": {"cursor": "c2"}},
        {"cursor": "c2", "per_page": "50"},
    ),
    "dynadot": ({"code": 200, "data": {"domain_info_list": [{"domain_name": "a.com"}]}}, {"page": "2"}),
    "gandi": ([{"fqdn": "a.com"}], {"page": "2", "per_page": "500"}),
    "godaddy": ([{"domain": "a.com"}], {"marker": "a.com", "limit": "1000"}),
    "namecom": ({"domains": [{"domainName": "a.com"}], "nextPage": 7, "totalCount": 2}, {"page": "7"}),
    "porkbun": ({"status": "SUCCESS", "domains": [{"domain": "a.com"}]}, {"start": "1"}),
    "route53": ({"Domains": [{"DomainName": "a.com"}], "NextPageMarker": "m2"}, {"Marker": "m2"}),
    "spaceship": ({"items": [{"name": "a.com"}], "total": 2}, {"skip": "1", "take": "100"}),
}


@pytest.mark.parametrize("provider", sorted(PAGES))
async def test_the_second_page_begins_behind_the_first_one(provider: str) -> None:
    page, expected = PAGES[provider]
    recorder = Recorder(answer(json.dumps(page), Total_Count="2"))
    pages = adapter_of(provider, recorder).list_domains()
    for _ in range(2):
        await anext(aiter(pages))
    first = recorder.sent[0]
    listing = first.path, first.headers.get("X-Amz-Target")
    second = [each for each in recorder.sent if (each.path, each.headers.get("X-Amz-Target")) == listing][1]
    given = {**second.query, **(second.json or {})}
    assert {name: str(given[name]) for name in expected} == expected


async def test_the_first_page_of_a_list_names_no_cursor() -> None:
    sent = [await sent_by(provider) for provider in ("cloudflare", "godaddy", "route53")]
    named = [{**each.query, **(each.json or {})}.keys() for each in sent]
    assert [names & {"cursor", "marker", "Marker"} for names in named] == [set(), set(), set()]


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("godaddy", {"periodStart": "2026-03-01T00:00:00Z", "periodEnd": "2026-04-01T00:00:00Z"}),
        ("ovh", {"date.from": "2026-03-01", "date.to": "2026-03-31"}),
        (
            "route53",
            {
                "Start": str(int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())),
                "End": str(int(datetime(2026, 4, 1, tzinfo=UTC).timestamp())),
            },
        ),
    ],
)
async def test_the_period_of_charges_has_both_of_its_days(provider: str, expected: dict[str, str]) -> None:
    recorder = Recorder()
    with suppress(RegistrarFailed, StopAsyncIteration):
        await anext(aiter(adapter_of(provider, recorder).list_charges(**MARCH)))
    sent = recorder.sent[0]
    given = {**sent.query, **(sent.json or {})}
    assert {name: str(given[name]) for name in expected} == expected


OK = "<namesilo><reply><code>300</code></reply></namesilo>"


@pytest.mark.parametrize(("enabled", "verb"), [(True, "Enable"), (False, "Disable")])
async def test_route53_names_the_switch_in_a_header(enabled: bool, verb: str) -> None:
    recorder = Recorder()
    await adapter_of("route53", recorder).set_auto_renew("a.com", enabled=enabled)
    target = recorder.sent[0].headers["X-Amz-Target"]
    assert target == f"Route53Domains_v20140515.{verb}DomainAutoRenew"


@pytest.mark.parametrize("provider", [each for each in ENABLES_AUTO_RENEW if not FAKES[each].reads_before_switch])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_switch_that_fails_is_sent_once(provider: str, status: int) -> None:
    recorder = Recorder(answer(status=status, Retry_After="1"))
    with pytest.raises(RegistrarFailed):
        await adapter_of(provider, recorder).set_auto_renew("a.com", enabled=True)
    assert len(recorder.sent) == 1


@pytest.mark.parametrize("provider", sorted(ADAPTERS.keys() - set(ENABLES_AUTO_RENEW)))
async def test_a_switch_that_a_registrar_does_not_offer_sends_nothing(provider: str) -> None:
    recorder = Recorder()
    with pytest.raises(RegistrarFailed) as failed:
        await adapter_of(provider, recorder).set_auto_renew("a.com", enabled=True)
    assert (failed.value.kind, recorder.sent) == (RegistrarFailure.UNSUPPORTED, [])


CODES: dict[str, tuple[str, str]] = {
    "dynadot": ("/restful/v2/domains/a.com/transfer_auth_code", '{"code": 200, "data": {"auth_code": "x1"}}'),
    "gandi": ("/domain/domains/a.com", '{"fqdn": "a.com", "authinfo": "x1"}'),
    "godaddy": ("/v1/domains/a.com", '{"domain": "a.com", "authCode": "x1"}'),
    "namecom": ("/core/v1/domains/a.com:getAuthCode", '{"authCode": "x1"}'),
    "ovh": ("/domain/a.com/authInfo", '"x1"'),
    "route53": ("/", '{"AuthCode": "x1"}'),
    "spaceship": ("/domains/a.com/transfer/auth-code", '{"authCode": "x1"}'),
}


@pytest.mark.parametrize("provider", sorted(CODES))
async def test_the_auth_code_is_read_where_the_registrar_has_it(provider: str) -> None:
    path, body = CODES[provider]
    recorder = Recorder(answer(body))
    assert await adapter_of(provider, recorder).get_auth_code("a.com") == AuthCode(code="x1")
    assert [each.path for each in recorder.sent] == [path]


async def test_an_auth_code_has_the_expiry_that_the_registrar_says() -> None:
    recorder = Recorder(answer('{"authCode": "x1", "expires": "2027-01-01T00:00:00Z"}'))
    found = await adapter_of("spaceship", recorder).get_auth_code("a.com")
    assert found.expires_at == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("provider", ["gandi", "godaddy"])
async def test_a_domain_without_an_auth_code_is_locked(provider: str) -> None:
    member = {"gandi": "fqdn", "godaddy": "domain"}[provider]
    adapter = adapter_of(provider, Recorder(answer(json.dumps({member: "a.com"}))))
    with pytest.raises(RegistrarFailed) as failed:
        await adapter.get_auth_code("a.com")
    expected = f"Unlock the domain at {adapter.profile.label} and try again."
    assert (failed.value.kind, failed.value.hint) == (RegistrarFailure.REFUSED, expected)


@pytest.mark.parametrize("provider", ["cloudflare", "namecheap", "porkbun"])
async def test_a_code_of_the_website_alone_needs_no_request(provider: str) -> None:
    recorder = Recorder()
    found = await adapter_of(provider, recorder).get_auth_code("a.com")
    assert (found.delivery, found.code, recorder.sent) == (AuthCodeDelivery.DASHBOARD, None, [])


async def test_namesilo_mails_the_code() -> None:
    recorder = Recorder(answer(OK))
    found = await adapter_of("namesilo", recorder).get_auth_code("a.com")
    assert (found.delivery, found.code) == (AuthCodeDelivery.EMAILED, None)
    assert [(each.path, each.query["domain"]) for each in recorder.sent] == [("/retrieveAuthCode", "a.com")]

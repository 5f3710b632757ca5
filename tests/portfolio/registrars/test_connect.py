"""Connect registrars, change connections, disconnect."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from builders.demo.registrars.fake import FakeAccount, FakeRegistrar, FakeServer, Fault
from builders.demo.registrars.fakes import FAKES
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.registrars import providers
from builders.portfolio.registrars.records import Environment
from tests.cast import Client, Person
from tests.portfolio.registrars.make import REGISTRARS, database_of, events_of

Json = dict[str, Any]
KEYS = {"api_key": "pk1_0123456789abcdef", "secret_api_key": "sk1_0123456789fedcba"}
pytestmark = pytest.mark.usefixtures("calls_fakes")


def fake_of(provider: str) -> FakeRegistrar:
    return FAKES[provider](FakeAccount())


async def put(client: Client, provider: str, body: Json, status: int = 200, connection: str | None = None) -> Json:
    query = {} if connection is None else {"connection": connection}
    answer = await client.put(f"{REGISTRARS}/{provider}", json=body, params=query)
    assert answer.status_code == status, answer.text
    found: Json = answer.json()
    return found


async def delete(client: Client, provider: str, status: int = 200, **query: Any) -> Json:
    answer = await client.delete(f"{REGISTRARS}/{provider}", params=query)
    assert answer.status_code == status, answer.text
    found: Json = answer.json()
    return found


async def listed(client: Client, provider: str) -> list[Json]:
    items = (await client.get(REGISTRARS)).json()["items"]
    return [each for each in items if each["provider"] == provider]


async def audit(person: Person) -> Sequence[Json]:
    answer = await person.get("/v1/account/audit", params={"action": "registrar.credential_changed"})
    return [each["about"] for each in answer.json()["items"]][::-1]


async def test_a_registrar_is_connected_with_a_test_key(alice: Person, bob: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    body = {"credentials": fake.credentials | {"secret_key": "x"}, "base_url": fakes.add(fake), "label": "Mine"}
    made = await put(alice.test, "Porkbun", body)
    assert made["verification"]["ok"] is True
    assert (made["connected"], made["connection"], made["label"]) == (True, "default", "Mine")
    assert (made["status"], made["environment"]) == ("never_synced", "live")
    assert [each["name"] for each in made["credentials_set"]] == ["api_key", "secret_api_key"]
    [warning] = made["warnings"]
    assert (warning["field"], warning["did_you_mean"]) == ("credentials.secret_key", "secret_api_key")
    [shown] = await listed(alice.test, "porkbun")
    assert shown["connection_id"] == made["connection_id"]
    assert fake.credentials["secret_api_key"] not in str(made) + str(shown)
    assert [each["connected"] for each in await listed(alice, "porkbun")] == [False]  # the live portfolio
    assert [each["connected"] for each in await listed(bob.test, "porkbun")] == [False]
    assert await events_of(alice, is_sandbox=True) == ["connected"]
    [entry] = await audit(alice)
    assert (entry["change"], entry["credentials"]) == ("connected", "api_key, secret_api_key")
    again = await put(alice.test, "porkbun", body)
    assert again["credentials_set"] == made["credentials_set"]
    assert len(await audit(alice)) == 1


async def test_what_is_left_out_stays_and_null_clears(alice: Person) -> None:
    keys = {"api_key": "k" * 16, "api_secret": "s" * 16 + "1234", "shopper_id": "42"}
    made = await put(alice, "godaddy", {"credentials": keys, "label": "One", "verify": False})
    assert made["verification"] is None
    assert {each["name"]: each["last4"] for each in made["credentials_set"]} == {
        "api_key": "kkkk",
        "api_secret": "1234",
        "shopper_id": "42",
    }
    changed = await put(
        alice, "godaddy", {"credentials": {"api_key": "n" * 16, "shopper_id": None}, "verify": False}
    )
    assert changed["connection_id"] == made["connection_id"]
    assert changed["label"] == "One"
    assert {each["name"]: each["last4"] for each in changed["credentials_set"]} == {
        "api_key": "nnnn",
        "api_secret": "1234",
    }
    refused = await put(alice, "godaddy", {"credentials": {"api_secret": None}}, 422)
    assert refused["detail"][0]["loc"] == ["body", "credentials", "api_secret"]
    off = await put(alice, "godaddy", {"enabled": False, "label": None, "sync_interval_hours": 6})
    assert (off["enabled"], off["label"], off["sync_interval_hours"]) == (False, None, 6)


async def test_refused_credentials_are_saved_as_such(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("namecom")
    wrong = {"credentials": fake.credentials | {"api_token": "wrong-token-1234"}, "base_url": fakes.add(fake)}
    refused = await put(alice.test, "namecom", {**wrong, "require_valid": True}, 424)
    assert refused["code"] == "provider_auth_failed"
    assert refused["next_action"]
    assert [each["connected"] for each in await listed(alice.test, "namecom")] == [False]
    saved = await put(alice.test, "namecom", wrong)
    assert saved["status"] == "auth_failed"
    assert (saved["verification"]["ok"], saved["verification"]["code"]) == (False, "auth_failed")
    assert saved["verification"]["hint"] in saved["status_detail"]
    assert await events_of(alice, is_sandbox=True) == []
    right = {"credentials": {"api_token": fake.credentials["api_token"]}}  # the username is kept
    assert (await put(alice.test, "namecom", right))["verification"]["ok"] is True
    assert (await put(alice.test, "namecom", wrong))["status"] == "auth_failed"
    assert await events_of(alice, is_sandbox=True) == ["connected", "credentials_invalid"]


async def test_each_failure_has_its_reason(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("namecheap")
    body = {"credentials": fake.credentials, "base_url": fakes.add(fake)}
    for fault, code, status in [
        (Fault.IP_NOT_ALLOWED, "ip_not_allowed", "restricted"),
        (Fault.RESTRICTED, "restricted", "restricted"),
        (Fault.MALFORMED, "malformed", "restricted"),
        (Fault.RATE_LIMITED_SILENTLY, "rate_limited", "rate_limited"),
        (None, "rate_limited", "rate_limited"),  # no request is sent for a minute
    ]:
        fake.account.faults.clear()
        fake.account.faults.extend([fault] * 3 if fault else [])
        said = await put(alice.test, "namecheap", body)
        assert (said["verification"]["code"], said["status"]) == (code, status), fault
        if fault is Fault.IP_NOT_ALLOWED:
            assert fake.credentials["client_ip"] in said["verification"]["hint"]
            assert "outgoing address" in said["verification"]["hint"]
    with clock.moved(timedelta(seconds=61)):
        later = await put(alice.test, "namecheap", body)
    assert (later["status"], later["next_allowed_at"]) == ("never_synced", None)


async def test_several_accounts_at_a_registrar_have_names(alice: Person) -> None:
    body = {"credentials": KEYS, "verify": False}
    first = await put(alice, "porkbun", body)
    second = await put(alice, "porkbun", body, connection="second")
    assert first["connection_id"] != second["connection_id"]
    for answer in (await put(alice, "porkbun", body, 409), await delete(alice, "porkbun", 409)):
        assert answer["code"] == "connection_ambiguous"
        assert answer["connections"] == ["default", "second"]
    assert [each["connection"] for each in await listed(alice, "porkbun")] == ["default", "second"]
    ended = await delete(alice, "porkbun", connection="default")
    assert (ended["connection"], ended["disconnected"]) == ("default", True)
    assert (await put(alice, "porkbun", {"label": "x", "verify": False}))["connection"] == "second"


async def test_what_is_not_allowed_is_refused(alice: Person, fakes: FakeServer) -> None:
    stand_in = fakes.add(fake_of("porkbun"))

    async def said(client: Client, provider: str, **body: Any) -> tuple[str, str]:
        [error] = (await put(client, provider, {"credentials": KEYS, **body}, 422))["detail"]
        return error["loc"][-1], error["type"]

    assert await said(alice, "porkbun", base_url=stand_in) == ("base_url", "base_url_not_allowed")
    assert await said(alice, "porkbun", environment="sandbox") == ("environment", "environment_not_allowed")
    assert await said(alice.test, "porkbun") == ("base_url", "base_url_required")
    named = {"environment": "live"}
    assert await said(alice.test, "godaddy", **named) == ("base_url", "base_url_required")
    for url, kind in [
        ("https://api.porkbun.com/api/json/v3", "base_url_not_allowed"),
        (f"{stand_in}?key=1", "base_url_not_allowed"),
        ("http://127.0.0.1:9/x", "url_not_allowed"),
        ("ftp://stand-in.example.com", "url_not_allowed"),
        ("https://user:secret@stand-in.example.com/", "url_not_allowed"),
        ("https://stand-in.example.com/#a", "url_not_allowed"),
        *((f"http://{host}/", "url_not_allowed") for host in ("169.254.169.254", "[::1]", "2130706433", "0x7f.1")),
    ]:
        assert await said(alice.test, "porkbun", base_url=url) == ("base_url", kind)
    for secret in ("", "  ", "schlüssel", "two\nlines", "a\r\nX-Evil: 1", "a\tb"):
        assert (await said(alice, "porkbun", credentials={**KEYS, "api_key": secret}))[1] == "credential_form"
    assert [each["connected"] for each in await listed(alice.test, "porkbun")] == [False]
    unknown = await put(alice, "porkbunn", {"credentials": KEYS}, 404)
    assert (unknown["code"], unknown["did_you_mean"]) == ("provider_not_found", "porkbun")
    assert (await delete(alice, "manual:", 404))["code"] == "provider_not_found"
    sandbox = await put(alice.test, "godaddy", {"credentials": {**KEYS, "api_secret": "s"}, "verify": False})
    assert sandbox["environment"] == "sandbox"


LIVE = (
    *("api.porkbun.com", "api-ipv4.porkbun.com", "PORKBUN.com.", "api.godaddy.com", "api.secureserver.net"),
    *("eu.api.ovh.com", "ca.api.ovh.com", "api.us.ovhcloud.com", "ca.api.soyoustart.com", "api.name.com"),
    *("www.namesilo.com", "api.dynadot.com", "api.cloudflare.com", "api.namecheap.com", "api.gandi.net"),
    *("spaceship.dev", "route53domains.us-east-1.amazonaws.com", "route53domains.us-east-1.api.aws"),
)
OTHER = (
    "api.ote-godaddy.com",
    "api.dev.name.com",
    "sandbox.namesilo.com",
    "notporkbun.com",
    "stand-in.example.com",
)


async def test_a_test_key_reaches_no_production_api_of_any_registrar(alice: Person) -> None:
    for host in LIVE:
        body = {"credentials": KEYS, "verify": False, "base_url": f"https://{host}/1.0"}
        [error] = (await put(alice.test, "porkbun", body, 422))["detail"]
        assert error["type"] == "base_url_not_allowed", host
    assert [host for host in OTHER if providers.is_live_host(host)] == []
    for each in providers.ADAPTERS.values():
        for environment, url in each.profile.base_urls.items():
            is_live = providers.is_live_host(urlsplit(url).hostname or "")
            assert is_live == (environment is Environment.LIVE), url


async def test_a_refused_address_is_named_where_it_is_known(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints = []
    for ip in (None, "192.0.2.17"):
        monkeypatch.setattr(outbound, "ip", ip)
        fake = fake_of("namesilo")
        fake.account.faults.append(Fault.IP_NOT_ALLOWED)
        body = {"credentials": fake.credentials, "base_url": fakes.add(fake)}
        hints.append((await put(alice.test, "namesilo", body))["verification"]["hint"])
    assert "curl https://checkip.amazonaws.com" in hints[0]
    assert hints[1].endswith("to the registrar's allowed addresses: 192.0.2.17.")
    named = Settings.model_validate({"outbound_ip": "192.0.2.17", "outbound_allow": [fakes.address]})
    assert Outbound(named).ip == "192.0.2.17"


async def test_credentials_do_not_go_to_another_base_url(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    base_url = fakes.add(fake)
    await put(alice.test, "porkbun", {"credentials": fake.credentials, "base_url": base_url})
    other = base_url.replace("/api/json/v3", "/elsewhere")
    refused = await put(alice.test, "porkbun", {"base_url": other, "credentials": {"api_key": "k"}}, 422)
    assert [each["loc"][-1] for each in refused["detail"]] == ["secret_api_key"]
    assert (await listed(alice.test, "porkbun"))[0]["base_url"] == base_url


async def test_two_changes_at_once_do_not_mix(alice: Person) -> None:
    pairs = [{"api_key": f"k{n}" * 8, "secret_api_key": f"s{n}" * 8} for n in range(4)]
    made = await asyncio.gather(
        *(put(alice, "porkbun", {"credentials": each, "verify": False}) for each in pairs),
        return_exceptions=True,
    )
    assert sum(isinstance(each, dict) for each in made) >= 2
    [shown] = await listed(alice, "porkbun")
    hints = [each["last4"] for each in shown["credentials_set"]]
    assert hints in [[each["api_key"][-4:], each["secret_api_key"][-4:]] for each in pairs]
    assert (await events_of(alice)).count("connected") == 1


async def test_a_disconnection_erases_the_credentials(alice: Person) -> None:
    body = {"credentials": KEYS, "verify": False}
    made = await put(alice, "porkbun", body)
    answer = await alice.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
    domain_id = answer.json()["id"]
    await attach(alice, domain_id, made["connection_id"])
    assert (await listed(alice, "porkbun"))[0]["domains_count"] == 1
    ended = await delete(alice, "porkbun")
    assert ended == {
        "provider": "porkbun",
        "connection": "default",
        "disconnected": True,
        "credentials_erased": True,
        "inventory_kept": True,
        "domains_affected": 1,
    }
    repeated = await delete(alice, "porkbun")
    assert (repeated["disconnected"], repeated["domains_affected"]) == (False, 0)
    assert (await alice.get(f"/v1/portfolio/domains/{domain_id}")).json()["connection_id"] is None
    assert await stored(alice) == [(None, [])]
    assert [each["connected"] for each in await listed(alice, "porkbun")] == [False]
    refused: httpx.Response = await alice.put(f"{REGISTRARS}/porkbun", json={"label": "again"})
    assert refused.status_code == 422  # nothing is left of the credentials
    assert (await put(alice, "porkbun", body))["connection_id"] == made["connection_id"]
    await delete(alice, "porkbun", keep_inventory=False)
    assert await stored(alice) == [(None, [])]
    assert await events_of(alice) == ["connected", "disconnected", "connected", "disconnected"]
    assert [each["change"] for each in await audit(alice)] == ["connected", "disconnected"] * 2


async def attach(person: Person, domain_id: str, connection_id: str) -> None:
    async with database_of(person).transaction() as conn:
        await conn.execute(
            "UPDATE portfolio_domains SET connection_id = %s WHERE account_id = %s AND id = %s",
            [connection_id, person.account.id, domain_id],
        )


async def stored(person: Person) -> list[tuple[bytes | None, list[Json]]]:
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT credentials, hints FROM portfolio_registrars_connections WHERE account_id = %s",
            [person.account.id],
        )
        return await rows.fetchall()

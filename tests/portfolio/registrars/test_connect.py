"""Connect registrars, change connections, disconnect."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from builders.demo.registrars.fake import FakeAccount, FakeRegistrar, FakeServer, Fault
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.registrars import providers
from builders.portfolio.registrars.api_client import ATTEMPTS
from builders.portfolio.registrars.records import Environment
from tests.cast import Client, Person
from tests.portfolio.registrars.make import REGISTRARS, database_of, events_of
from tests.registrars.fakes import FAKES

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


async def at_fake(person: Person, fakes: FakeServer, provider: str = "porkbun", **body: Any) -> Json:
    """Connect a fake with a test key."""
    fake = fake_of(provider)
    return await put(person.test, provider, {"credentials": fake.credentials, "base_url": fakes.add(fake), **body})


async def test_a_registrar_is_connected_with_a_test_key(alice: Person, fakes: FakeServer) -> None:
    made = await at_fake(alice, fakes, label="Mine")
    assert made["verification"]["ok"] is True
    assert (made["connected"], made["connection"], made["label"]) == (True, "default", "Mine")
    assert (made["status"], made["environment"]) == ("never_synced", "sandbox")
    assert [each["name"] for each in made["credentials_set"]] == ["api_key", "secret_api_key"]


async def test_a_registrar_is_named_in_any_case(alice: Person) -> None:
    made = await put(alice, "PorkBun", {"credentials": KEYS, "verify": False})
    assert made["provider"] == "porkbun"


async def test_an_unknown_credential_that_resembles_one_is_refused(alice: Person) -> None:
    body = {"credentials": {**KEYS, "secret_key": "x"}, "verify": False}
    [error] = (await put(alice, "porkbun", body, 422))["detail"]
    assert (error["loc"], error["type"]) == (["body", "credentials", "secret_key"], "unknown_field")
    assert error["did_you_mean"] == "secret_api_key"


async def test_the_list_shows_the_connection_without_its_secrets(alice: Person) -> None:
    made = await put(alice, "porkbun", {"credentials": KEYS, "verify": False})
    [shown] = await listed(alice, "porkbun")
    assert shown["connection_id"] == made["connection_id"]
    assert not any(secret in str(made) + str(shown) for secret in KEYS.values())


async def test_the_connection_of_a_test_key_is_not_in_the_live_portfolio(alice: Person, fakes: FakeServer) -> None:
    await at_fake(alice, fakes)
    assert [each["connected"] for each in await listed(alice, "porkbun")] == [False]


async def test_bob_does_not_see_the_connection_of_alice(alice: Person, bob: Person, fakes: FakeServer) -> None:
    await at_fake(alice, fakes)
    assert [each["connected"] for each in await listed(bob.test, "porkbun")] == [False]


async def test_a_new_connection_is_published(alice: Person, fakes: FakeServer) -> None:
    await at_fake(alice, fakes)
    assert await events_of(alice, is_sandbox=True) == ["connected"]


async def test_a_repeated_request_changes_nothing(alice: Person) -> None:
    body = {"credentials": KEYS, "verify": False}
    made = await put(alice, "porkbun", body)
    again = await put(alice, "porkbun", body)
    assert (again["connection_id"], again["credentials_set"]) == (made["connection_id"], made["credentials_set"])
    assert (len(await audit(alice)), await events_of(alice)) == (1, ["connected"])


GODADDY = {"api_key": "k" * 16, "api_secret": "s" * 16 + "1234", "shopper_id": "42"}


async def godaddy(person: Person, **body: Any) -> Json:
    """Connect GoDaddy, and then change the connection."""
    await put(person, "godaddy", {"credentials": GODADDY, "label": "One", "verify": False})
    return await put(person, "godaddy", {"verify": False, **body})


def shown_by(changed: Json) -> dict[str, str]:
    return {each["name"]: each["last4"] for each in changed["credentials_set"]}


async def test_credentials_that_are_left_out_stay(alice: Person) -> None:
    changed = await godaddy(alice, credentials={"api_key": "n" * 16})
    assert shown_by(changed) == {"api_key": "nnnn", "api_secret": "1234", "shopper_id": "42"}


async def test_null_clears_an_optional_credential(alice: Person) -> None:
    assert "shopper_id" not in shown_by(await godaddy(alice, credentials={"shopper_id": None}))


async def test_null_does_not_clear_a_required_credential(alice: Person) -> None:
    await godaddy(alice)
    refused = await put(alice, "godaddy", {"credentials": {"api_secret": None}}, 422)
    assert refused["detail"][0]["loc"] == ["body", "credentials", "api_secret"]


async def test_a_label_that_is_left_out_stays(alice: Person) -> None:
    assert (await godaddy(alice))["label"] == "One"


async def test_null_clears_a_label(alice: Person) -> None:
    assert (await godaddy(alice, label=None))["label"] is None


async def test_a_connection_is_disabled(alice: Person) -> None:
    assert (await godaddy(alice, enabled=False))["enabled"] is False


async def test_the_interval_of_syncs_is_set(alice: Person) -> None:
    assert (await godaddy(alice, sync_interval_hours=6))["sync_interval_hours"] == 6


async def refused_by_namecom(person: Person, fakes: FakeServer, **body: Any) -> Json:
    """Connect Name.com with a token that it does not accept."""
    credentials = fake_of("namecom").credentials | {"api_token": "wrong-token-1234"}
    return await at_fake(person, fakes, "namecom", credentials=credentials, **body)


async def test_refused_credentials_are_saved_as_such(alice: Person, fakes: FakeServer) -> None:
    saved = await refused_by_namecom(alice, fakes)
    assert (saved["status"], saved["verification"]["ok"]) == ("auth_failed", False)
    assert saved["verification"]["code"] == "auth_failed"
    assert saved["verification"]["hint"] in saved["status_detail"]


async def test_refused_credentials_of_a_new_connection_are_not_published(alice: Person, fakes: FakeServer) -> None:
    await refused_by_namecom(alice, fakes)
    assert await events_of(alice, is_sandbox=True) == []


async def test_a_new_token_is_checked_with_the_stored_username(alice: Person, fakes: FakeServer) -> None:
    await refused_by_namecom(alice, fakes)
    right = {"credentials": {"api_token": fake_of("namecom").credentials["api_token"]}}
    assert (await put(alice.test, "namecom", right))["verification"]["ok"] is True


async def test_credentials_that_become_right_and_wrong_are_published(alice: Person, fakes: FakeServer) -> None:
    await refused_by_namecom(alice, fakes)
    await at_fake(alice, fakes, "namecom")
    await refused_by_namecom(alice, fakes)
    assert await events_of(alice, is_sandbox=True) == ["connected", "credentials_invalid"]


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        (Fault.IP_NOT_ALLOWED, "ip_not_allowed", "restricted"),
        (Fault.RESTRICTED, "restricted", "restricted"),
        (Fault.MALFORMED, "malformed", "never_synced"),
        (Fault.WEB_PAGE, "unavailable", "never_synced"),
        (Fault.RATE_LIMITED_SILENTLY, "rate_limited", "rate_limited"),
    ],
)
async def test_each_failure_has_its_reason(
    alice: Person, fakes: FakeServer, fault: Fault, code: str, status: str
) -> None:
    fake = fake_of("namecheap")
    fake.account.faults.extend([fault] * 3)
    said = await put(alice.test, "namecheap", {"credentials": fake.credentials, "base_url": fakes.add(fake)})
    assert (said["verification"]["code"], said["status"]) == (code, status)


async def test_a_refused_address_is_named_with_that_of_the_service(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("namecheap")
    fake.account.faults.append(Fault.IP_NOT_ALLOWED)
    said = await put(alice.test, "namecheap", {"credentials": fake.credentials, "base_url": fakes.add(fake)})
    hint = said["verification"]["hint"]
    assert fake.credentials["client_ip"] in hint
    assert "outgoing address" in hint


async def limited(person: Person, fakes: FakeServer) -> FakeRegistrar:
    """Connect a registrar that accepts no request for a minute."""
    fake = fake_of("namecheap")
    fake.account.faults.extend([Fault.RATE_LIMITED_SILENTLY] * ATTEMPTS)
    await put(person.test, "namecheap", {"credentials": fake.credentials, "base_url": fakes.add(fake)})
    return fake


async def test_no_check_is_sent_while_the_registrar_accepts_none(alice: Person, fakes: FakeServer) -> None:
    fake = await limited(alice, fakes)
    assert (await put(alice.test, "namecheap", {}))["verification"]["code"] == "rate_limited"
    assert fake.account.requests == ATTEMPTS


async def test_a_check_is_sent_after_a_minute(alice: Person, fakes: FakeServer) -> None:
    await limited(alice, fakes)
    with clock.moved(timedelta(seconds=61)):
        later = await put(alice.test, "namecheap", {})
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


async def refusal(client: Client, provider: str = "porkbun", **body: Any) -> tuple[str, str]:
    """Where a connection is refused, and why."""
    [error] = (await put(client, provider, {"credentials": KEYS, **body}, 422))["detail"]
    return error["loc"][-1], error["type"]


async def test_a_live_key_sets_no_base_url(alice: Person, fakes: FakeServer) -> None:
    url = fakes.add(fake_of("porkbun"))
    assert await refusal(alice, base_url=url) == ("base_url", "base_url_not_allowed")


async def test_an_environment_that_a_registrar_lacks_is_refused(alice: Person) -> None:
    keys = {"api_key": "k", "api_secret": "s"}
    found = await refusal(alice, "spaceship", environment="sandbox", credentials=keys)
    assert found == ("environment", "environment_not_allowed")


async def test_a_test_key_needs_a_base_url_where_there_is_no_sandbox(alice: Person) -> None:
    keys = {"api_key": "k", "api_secret": "s"}
    assert await refusal(alice.test, "spaceship", credentials=keys) == ("base_url", "base_url_required")


async def test_a_test_key_sends_no_key_of_production_to_a_sandbox_at_the_same_address(alice: Person) -> None:
    made = await put(alice.test, "porkbun", {"credentials": KEYS})
    assert (made["environment"], made["verification"]["code"]) == ("sandbox", "auth_failed")
    assert "pk1_sb_" in made["verification"]["hint"]


async def test_a_test_key_does_not_use_production(alice: Person) -> None:
    assert await refusal(alice.test, "godaddy", environment="live") == ("base_url", "base_url_required")


async def test_a_base_url_has_no_query(alice: Person, fakes: FakeServer) -> None:
    url = f"{fakes.add(fake_of('porkbun'))}?key=1"
    assert await refusal(alice.test, base_url=url) == ("base_url", "base_url_not_allowed")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/x",
        "ftp://stand-in.example.com",
        "https://user:secret@stand-in.example.com/",
        "https://stand-in.example.com/#a",
        *(f"http://{host}/" for host in ("169.254.169.254", "[::1]", "2130706433", "0x7f.1")),
    ],
)
async def test_a_base_url_that_the_service_must_not_call_is_refused(alice: Person, url: str) -> None:
    assert await refusal(alice.test, base_url=url) == ("base_url", "url_not_allowed")


@pytest.mark.parametrize(
    "secret", ["", "  ", "schl\u00fcssel", "two\nlines", "a\r\nX-Evil: 1", "a\tb", "x" * 1_001]
)
async def test_a_credential_is_one_line_of_ascii(alice: Person, secret: str) -> None:
    assert (await refusal(alice, credentials={**KEYS, "api_key": secret}))[1] == "credential_form"


async def test_a_refused_connection_is_not_made(alice: Person) -> None:
    await refusal(alice.test, "spaceship", credentials={"api_key": "k", "api_secret": "s"})
    assert [each["connected"] for each in await listed(alice.test, "spaceship")] == [False]


async def test_a_similar_registrar_is_suggested_for_an_unknown_one(alice: Person) -> None:
    unknown = await put(alice, "porkbunn", {"credentials": KEYS}, 404)
    assert (unknown["code"], unknown["did_you_mean"]) == ("provider_not_found", "porkbun")


async def test_a_registrar_without_a_name_is_not_disconnected(alice: Person) -> None:
    assert (await delete(alice, "manual:", 404))["code"] == "provider_not_found"


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


@pytest.mark.parametrize("host", LIVE)
async def test_a_test_key_reaches_no_production_api(alice: Person, host: str) -> None:
    url = f"https://{host}/1.0"
    assert await refusal(alice.test, base_url=url, verify=False) == ("base_url", "base_url_not_allowed")


@pytest.mark.parametrize("host", OTHER)
def test_another_host_is_no_production_api(host: str) -> None:
    assert not providers.is_live_host(host)


@pytest.mark.parametrize("provider", sorted(providers.ADAPTERS))
def test_the_production_api_of_a_registrar_is_known_as_such(provider: str) -> None:
    urls = providers.get_profile(provider).base_urls
    found = {
        environment: providers.is_live_host(urlsplit(url).hostname or "") for environment, url in urls.items()
    }
    live = urls[Environment.LIVE]  # also of a sandbox that differs by the key only
    assert found == {environment: url == live for environment, url in urls.items()}


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


async def connected(person: Person) -> Json:
    return await put(person, "porkbun", {"credentials": KEYS, "verify": False})


async def test_a_disconnection_says_what_it_has_done(alice: Person) -> None:
    made = await connected(alice)
    domain = (await alice.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).json()
    await attach(alice, domain["id"], made["connection_id"])
    assert await delete(alice, "porkbun") == {
        "provider": "porkbun",
        "connection": "default",
        "disconnected": True,
        "credentials_erased": True,
        "inventory_kept": True,
        "domains_affected": 1,
    }


async def test_a_connection_counts_its_domains(alice: Person) -> None:
    made = await connected(alice)
    domain = (await alice.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).json()
    await attach(alice, domain["id"], made["connection_id"])
    assert (await listed(alice, "porkbun"))[0]["domains_count"] == 1


async def test_a_repeated_disconnection_does_nothing(alice: Person) -> None:
    await connected(alice)
    await delete(alice, "porkbun")
    repeated = await delete(alice, "porkbun")
    assert (repeated["disconnected"], repeated["domains_affected"]) == (False, 0)


async def test_a_disconnection_erases_the_credentials(alice: Person) -> None:
    await connected(alice)
    await delete(alice, "porkbun")
    assert await stored(alice) == [(None, [])]


async def test_a_disconnected_registrar_is_listed_as_such(alice: Person) -> None:
    await connected(alice)
    await delete(alice, "porkbun")
    assert [each["connected"] for each in await listed(alice, "porkbun")] == [False]


async def test_a_disconnection_frees_the_domains(alice: Person) -> None:
    made = await connected(alice)
    domain = (await alice.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).json()
    await attach(alice, domain["id"], made["connection_id"])
    await delete(alice, "porkbun")
    assert (await alice.get(f"/v1/portfolio/domains/{domain['id']}")).json()["connection_id"] is None


async def test_nothing_is_left_of_erased_credentials(alice: Person) -> None:
    await connected(alice)
    await delete(alice, "porkbun")
    assert len((await put(alice, "porkbun", {"label": "again"}, 422))["detail"]) == len(KEYS)


async def test_a_registrar_that_is_connected_again_keeps_its_id(alice: Person) -> None:
    made = await connected(alice)
    await delete(alice, "porkbun")
    assert (await connected(alice))["connection_id"] == made["connection_id"]


async def test_each_connection_and_disconnection_is_published(alice: Person) -> None:
    for _ in range(2):
        await connected(alice)
        await delete(alice, "porkbun")
    assert await events_of(alice) == ["connected", "disconnected"] * 2


async def test_each_connection_and_disconnection_is_in_the_audit_list(alice: Person) -> None:
    for _ in range(2):
        await connected(alice)
        await delete(alice, "porkbun", keep_inventory=False)
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

"""Credentials of a connection: which are needed, what shows them, who checks them, and when they are changed."""

from datetime import timedelta
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeRegistrar, FakeServer, Fault
from builders.kit.values import clock
from builders.portfolio.registrars.providers import ADAPTERS
from tests.cast import Client, Person
from tests.portfolio.registrars.make import REGISTRARS, events_of
from tests.portfolio.registrars.sync import Json, fake_of, ok
from tests.portfolio.team.make import code, join, of

KEYS = {"api_key": "pk1_0123456789abcdef", "secret_api_key": "sk1_0123456789fedcba"}
PORKBUN = f"{REGISTRARS}/porkbun"
REQUIRED = [
    (name, field.name)
    for name, each in ADAPTERS.items()
    for field in each.profile.credential_fields
    if field.is_required
]
pytestmark = pytest.mark.usefixtures("calls_fakes")


def all_of(provider: str) -> dict[str, str]:
    """Credentials of the right form."""
    return {field.name: f"{field.name}-0123456789" for field in ADAPTERS[provider].profile.credential_fields}


async def save(person: Client, provider: str = "porkbun", **body: Any) -> Json:
    return ok(await person.put(f"{REGISTRARS}/{provider}", json=body))


async def save_keys(person: Client, **body: Any) -> Json:
    """Connect Porkbun without a request to it."""
    return await save(person, **{"credentials": KEYS, "verify": False, **body})


async def at_fake(person: Person, fakes: FakeServer, fake: FakeRegistrar, **body: Any) -> Json:
    """Connect a fake with a test key."""
    return await save(
        person.test, fake.provider, **{"credentials": fake.credentials, "base_url": fakes.add(fake), **body}
    )


def hint(shown: Json, name: str) -> Json:
    [found] = [each for each in shown["credentials_set"] if each["name"] == name]
    return dict(found)


async def changes_of(person: Person) -> list[tuple[str, str | None]]:
    """What the audit list says of changes, the oldest first."""
    items = ok(await person.get("/v1/account/audit", params={"action": "registrar.credential_changed"}))["items"]
    return [(each["about"]["change"], each["about"].get("credentials")) for each in reversed(items)]


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_the_registrar_checks_the_credentials_with_one_request(
    alice: Person, fakes: FakeServer, provider: str
) -> None:
    fake = fake_of(provider)
    saved = await at_fake(alice, fakes, fake)
    assert (saved["verification"]["ok"], fake.account.requests) == (True, 1 + fake.signs_in)


async def test_godaddy_accepts_a_token(alice: Person, fakes: FakeServer) -> None:
    saved = await at_fake(alice, fakes, fake_of("godaddy"), credentials={"access_token": "gd-demo-token"})
    assert saved["verification"]["ok"] is True


async def test_a_token_is_enough_where_it_replaces_a_key_and_its_secret(alice: Person) -> None:
    token = {"access_token": "gd-0123456789abcdef"}
    saved = await save(alice, "godaddy", credentials=token, verify=False)
    assert [each["name"] for each in saved["credentials_set"]] == ["access_token"]
    fields = {each["name"]: each["instead_of"] for each in saved["credential_fields"]}
    assert fields["access_token"] == ["api_key", "api_secret"]


@pytest.mark.parametrize(("provider", "name"), REQUIRED)
async def test_each_required_credential_is_asked_for(alice: Person, provider: str, name: str) -> None:
    others = [each for named, each in REQUIRED if named == provider and each != name]
    sent = {each: all_of(provider)[each] for each in others}
    refused = await alice.put(f"{REGISTRARS}/{provider}", json={"credentials": sent, "verify": False})
    [error] = refused.json()["detail"]
    assert (refused.status_code, error["loc"]) == (422, ["body", "credentials", name])
    assert error["type"] == "credential_required"


async def test_optional_credentials_are_not_asked_for(alice: Person) -> None:
    saved = await save(alice, "godaddy", credentials={"api_key": "k" * 16, "api_secret": "s" * 16}, verify=False)
    assert [each["name"] for each in saved["credentials_set"]] == ["api_key", "api_secret"]


async def test_a_long_secret_shows_its_last_four_characters(alice: Person) -> None:
    assert hint(await save_keys(alice), "api_key")["last4"] == "cdef"


async def test_a_short_secret_shows_nothing(alice: Person) -> None:
    saved = await save_keys(alice, credentials={**KEYS, "api_key": "k" * 11})
    assert hint(saved, "api_key")["last4"] is None


async def test_a_short_name_of_a_user_is_shown(alice: Person) -> None:
    saved = await save(alice, "namecom", credentials={"username": "ann", "api_token": "t" * 12}, verify=False)
    assert hint(saved, "username")["last4"] == "ann"


async def test_blanks_around_a_credential_are_not_part_of_it(alice: Person) -> None:
    await save_keys(alice)
    await save_keys(alice, credentials={"api_key": f"  {KEYS['api_key']}\n"})
    assert len(await changes_of(alice)) == 1


async def test_an_unchanged_credential_keeps_its_time(alice: Person) -> None:
    before = hint(await save_keys(alice), "api_key")
    clock.move(timedelta(days=1))
    assert hint(await save_keys(alice), "api_key") == before


async def test_a_changed_credential_has_the_time_of_its_change(alice: Person) -> None:
    before = hint(await save_keys(alice), "api_key")
    clock.move(timedelta(days=1))
    changed = await save_keys(alice, credentials={"api_key": "n" * 16})
    assert hint(changed, "api_key")["updated_at"] > before["updated_at"]


async def test_an_unknown_credential_is_a_warning(alice: Person) -> None:
    saved = await save_keys(alice, credentials={**KEYS, "passport": "x"})
    [warning] = saved["warnings"]
    assert (warning["field"], warning["did_you_mean"]) == ("credentials.passport", None)


async def test_an_unknown_credential_is_not_kept(alice: Person) -> None:
    saved = await save_keys(alice, credentials={**KEYS, "passport": "x"})
    assert [each["name"] for each in saved["credentials_set"]] == ["api_key", "secret_api_key"]


async def test_without_a_check_no_request_is_sent(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    saved = await at_fake(alice, fakes, fake, verify=False)
    assert (saved["verification"], fake.account.requests) == (None, 0)


async def test_a_disabled_connection_is_not_checked(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    saved = await at_fake(alice, fakes, fake, enabled=False)
    assert (saved["verification"], fake.account.requests) == (None, 0)


async def test_a_connection_that_is_enabled_again_is_checked(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    await at_fake(alice, fakes, fake, enabled=False)
    assert (await save(alice.test, enabled=True))["verification"]["ok"] is True


async def test_a_registrar_without_an_api_checks_nothing(alice: Person) -> None:
    assert (await save(alice, "manual:corner"))["verification"] is None


@pytest.mark.parametrize(
    ("fault", "refusal"),
    [
        (Fault.BAD_KEY, (424, "provider_auth_failed")),
        (Fault.RESTRICTED, (424, "provider_access_restricted")),
        (Fault.RATE_LIMITED, (429, "provider_rate_limited")),
        (Fault.SERVER_ERROR, (502, "provider_unavailable")),
        (Fault.REFUSED, (424, "provider_refused")),
        (Fault.ODD, (502, "provider_unavailable")),
    ],
)
async def test_a_failed_check_refuses_the_request_where_it_must_be_valid(
    alice: Person, fakes: FakeServer, fault: Fault, refusal: tuple[int, str]
) -> None:
    fake = fake_of("godaddy")
    fake.account.faults.extend([fault] * 3)
    body = {"credentials": fake.credentials, "base_url": fakes.add(fake), "require_valid": True}
    assert code(await alice.test.put(f"{REGISTRARS}/godaddy", json=body)) == refusal


async def test_a_refused_request_saves_nothing(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    await at_fake(alice, fakes, fake, label="before")
    fake.account.faults.append(Fault.BAD_KEY)
    await alice.test.put(PORKBUN, json={"label": "after", "require_valid": True})
    [shown] = [each for each in ok(await alice.test.get(REGISTRARS))["items"] if each["connected"]]
    assert (shown["label"], shown["status"]) == ("before", "never_synced")


async def test_the_wait_of_a_registrar_is_in_the_header(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("godaddy")
    fake.account.faults.append(Fault.RATE_LIMITED)
    body = {"credentials": fake.credentials, "base_url": fakes.add(fake), "require_valid": True}
    refused = await alice.test.put(f"{REGISTRARS}/godaddy", json=body)
    assert refused.headers["Retry-After"] == "3600"


async def test_the_code_of_the_registrar_is_in_the_refusal(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("godaddy")
    fake.account.faults.append(Fault.REFUSED)
    body = {"credentials": fake.credentials, "base_url": fakes.add(fake), "require_valid": True}
    refused = await alice.test.put(f"{REGISTRARS}/godaddy", json=body)
    assert (refused.json()["provider_code"], refused.json()["failure"]) == ("INVALID_VALUE", "refused")


async def test_new_credentials_end_a_refusal(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    fake.account.faults.append(Fault.BAD_KEY)
    await at_fake(alice, fakes, fake)
    changed = await save(alice.test, credentials={"api_key": "n" * 16}, verify=False)
    assert (changed["status"], changed["status_detail"]) == ("never_synced", None)


async def test_new_credentials_that_nobody_checks_end_a_refusal(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    fake.account.faults.extend([Fault.BAD_KEY, *[Fault.SERVER_ERROR] * 3])
    await at_fake(alice, fakes, fake)
    changed = await save(alice.test, credentials={"api_key": "n" * 16})
    assert (changed["verification"]["code"], changed["status"]) == ("unavailable", "never_synced")


async def test_another_label_does_not_end_a_refusal(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    fake.account.faults.append(Fault.BAD_KEY)
    await at_fake(alice, fakes, fake)
    assert (await save(alice.test, label="x", verify=False))["status"] == "auth_failed"


async def test_a_registrar_that_is_down_does_not_change_the_status(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("porkbun")
    await at_fake(alice, fakes, fake)
    fake.account.faults.extend([Fault.SERVER_ERROR] * 3)
    saved = await save(alice.test)
    assert (saved["verification"]["code"], saved["status"]) == ("unavailable", "never_synced")


@pytest.mark.parametrize(
    ("fault", "event"), [(Fault.BAD_KEY, "credentials_invalid"), (Fault.RESTRICTED, "restricted")]
)
async def test_a_check_that_fails_is_published_once(
    alice: Person, fakes: FakeServer, fault: Fault, event: str
) -> None:
    fake = fake_of("godaddy")
    await at_fake(alice, fakes, fake)
    fake.account.faults.extend([fault] * 2)
    for _ in range(2):
        await save(alice.test, "godaddy")
    assert await events_of(alice, is_sandbox=True) == ["connected", event]


async def test_a_check_that_succeeds_again_is_published(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("godaddy")
    fake.account.faults.append(Fault.RESTRICTED)
    await at_fake(alice, fakes, fake)
    await save(alice.test, "godaddy")
    assert await events_of(alice, is_sandbox=True) == ["connected"]


async def test_a_change_of_the_label_is_not_in_the_audit_list(alice: Person) -> None:
    await save_keys(alice)
    await save_keys(alice, label="Mine")
    assert await changes_of(alice) == [("connected", "api_key, secret_api_key")]


async def test_the_audit_list_names_the_credentials_that_changed(alice: Person) -> None:
    await save_keys(alice)
    await save_keys(alice, credentials={"api_key": "n" * 16})
    assert (await changes_of(alice))[1] == ("changed", "api_key")


async def test_a_disconnection_of_nothing_is_not_in_the_audit_list(alice: Person) -> None:
    ok(await alice.delete(PORKBUN))
    assert await changes_of(alice) == []


async def test_an_admin_connects_for_the_owner(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "admin")
    ok(await charlie.put(PORKBUN, json={"credentials": KEYS, "verify": False}, headers=of(alice)))
    assert await changes_of(alice) == [("connected", "api_key, secret_api_key")]


@pytest.mark.parametrize("role", ["manager", "accountant", "viewer"])
async def test_a_role_that_does_not_manage_registrars_is_told_so(
    alice: Person, charlie: Person, role: str
) -> None:
    await join(alice, charlie, role)
    refused = await charlie.put(PORKBUN, json={"credentials": KEYS, "verify": False}, headers=of(alice))
    assert (code(refused), refused.json()["permission"]) == ((403, "forbidden_role"), "registrars.manage")


async def test_a_manager_syncs(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "manager")
    assert (await charlie.post(f"{REGISTRARS}/sync", headers=of(alice))).status_code == 200


async def test_support_connects_nothing(alice: Person) -> None:
    support = await alice.admit_support(may_write=True)
    async with Client(alice.service, token=support.token) as client:
        assert (await client.put(PORKBUN, json={"credentials": KEYS, "verify": False})).status_code == 403


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_test_key_uses_the_sandbox_of_a_registrar(alice: Person, provider: str) -> None:
    body = {"credentials": all_of(provider), "verify": False}
    saved = await alice.test.put(f"{REGISTRARS}/{provider}", json=body)
    if ADAPTERS[provider].profile.capabilities.sandbox:
        assert ok(saved)["environment"] == "sandbox"
    else:
        assert saved.json()["detail"][0]["type"] == "base_url_required"


async def test_a_live_key_uses_production(alice: Person) -> None:
    saved = await save(alice, "godaddy", credentials=all_of("godaddy"), verify=False)
    assert saved["environment"] == "live"


async def test_a_live_key_can_use_the_sandbox_of_a_registrar(alice: Person) -> None:
    body = {"credentials": all_of("godaddy"), "verify": False, "environment": "sandbox"}
    assert (await save(alice, "godaddy", **body))["environment"] == "sandbox"


async def test_a_test_key_keeps_a_base_url_where_there_is_no_sandbox(alice: Person, fakes: FakeServer) -> None:
    fake = fake_of("spaceship")
    await at_fake(alice, fakes, fake)
    body = {"base_url": None, "credentials": fake.credentials, "verify": False}
    refused = await alice.test.put(f"{REGISTRARS}/spaceship", json=body)
    assert refused.json()["detail"][0]["type"] == "base_url_required"


async def test_a_new_portfolio_lists_each_registrar_unconnected(alice: Person) -> None:
    found = ok(await alice.get(REGISTRARS))
    shown = {each["provider"]: each["connected"] for each in found["items"]}
    assert (shown, found["count"]) == (dict.fromkeys(ADAPTERS, False), len(ADAPTERS))


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_the_list_names_the_credentials_of_a_registrar(alice: Person, provider: str) -> None:
    [shown] = [each for each in ok(await alice.get(REGISTRARS))["items"] if each["provider"] == provider]
    assert [each["name"] for each in shown["credential_fields"]] == list(all_of(provider))


async def test_connections_are_listed_before_other_registrars(alice: Person) -> None:
    await save_keys(alice)
    await save(alice, "manual:corner")
    listed = [each["provider"] for each in ok(await alice.get(REGISTRARS))["items"]]
    assert listed[:2] == ["manual:corner", "porkbun"]

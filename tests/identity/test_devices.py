"""A machine asks for keys, and a person decides (RFC 8628)."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.identity.devices import service as devices
from builders.identity.devices.records import MAX_HOST, MAX_OPEN
from builders.identity.records import MAX_ACTIVE_KEYS, SessionKind
from builders.identity.sessions import ALPHABET
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import StopClock
from tests.worker import emails_to

DEVICE = "/v1/auth/device"
DEVELOPER = {"decision": "approve", "test_presets": ["developer_full"]}
GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def ask(client: Client, **wanted: Any) -> dict[str, Any]:
    answer = await client.post(f"{DEVICE}/authorize", json={"host": "ada-laptop"} | wanted)
    assert answer.status_code == 200, answer.text
    codes: dict[str, Any] = answer.json()
    return codes


async def poll(client: Client, codes: dict[str, Any]) -> Any:
    """Poll after the interval."""
    clock.move(timedelta(seconds=codes["interval"]))
    return await client.post(f"{DEVICE}/token", json={"device_code": codes["device_code"]})


async def open_code(browser: Client, codes: dict[str, Any]) -> str:
    """Type the code; return the path of the request."""
    answer = await browser.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})
    assert answer.status_code == 200, answer.text
    return f"{DEVICE}/requests/{answer.json()['id']}"


async def decide(browser: Client, codes: dict[str, Any], **decision: Any) -> Any:
    path = await open_code(browser, codes)
    return await browser.post(f"{path}/decision", json=DEVELOPER | decision)


async def test_a_machine_gets_its_codes(anyone: Client) -> None:
    codes = await ask(anyone)

    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", codes["user_code"])
    assert codes["verification_uri"] == "http://builders.test/console/device"
    assert "verification_uri_complete" not in codes
    assert (codes["expires_in"], codes["interval"]) == (600, 5)


async def test_user_codes_have_no_ambiguous_character(anyone: Client) -> None:
    typed = "".join([(await ask(anyone))["user_code"].replace("-", "") for _ in range(20)])

    assert not set(typed) & set("01ILOAEU")


async def test_the_codes_are_not_stored(anyone: Client, conn: Conn) -> None:
    codes = await ask(anyone)
    rows = await (await conn.execute("SELECT row_to_json(r)::text FROM identity_devices_requests AS r")).fetchall()

    assert codes["device_code"] not in str(rows)
    assert codes["user_code"].replace("-", "") not in str(rows)


async def test_a_machine_may_send_forms(anyone: Client) -> None:
    answer = await anyone.post(f"{DEVICE}/authorize", data={"client_id": "any", "scope": "domainer_full live"})
    token = await anyone.post(
        f"{DEVICE}/token", data={"grant_type": GRANT, "device_code": answer.json()["device_code"]}
    )

    assert token.json()["error"] == "authorization_pending"


async def test_an_unknown_word_of_the_scope_is_refused(anyone: Client) -> None:
    answer = await anyone.post(f"{DEVICE}/authorize", json={"scope": "admin"})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "scope"]


async def test_an_approved_machine_gets_a_key_for_each_choice(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        decided = await decide(
            browser, codes, test_presets=["developer_full", "domainer_full"], live_preset="developer_full"
        )
    assert decided.json()["status"] == "approved"
    answer = await poll(anyone, codes)

    assert answer.status_code == 200, answer.text
    assert "no-store" in answer.headers["cache-control"]
    got = [(each["key_kind"], each["preset"], each["label"]) for each in answer.json()["keys"]]
    assert got == [
        ("test", "developer_full", "bld on ada-laptop"),
        ("test", "domainer_full", "bld on ada-laptop"),
        ("live", "developer_full", "bld on ada-laptop"),
    ]


async def test_the_keys_work_for_90_days(anyone: Client, alice: Person, service: Service) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
    [key] = (await poll(anyone, codes)).json()["keys"]

    async with Client(service, key["secret"]) as machine:
        assert (await machine.get("/v1/auth/session")).json()["account"]["id"] == str(alice.account.id)
        clock.move(timedelta(days=90))
        assert (await machine.get("/v1/auth/session")).json()["code"] == "api_key_expired"


async def test_a_machine_waits_for_the_person(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await open_code(browser, codes)
    answer = await poll(anyone, codes)

    assert answer.status_code == 400
    assert answer.json()["code"] == answer.json()["error"] == "authorization_pending"
    assert answer.json()["interval"] == 5


async def test_a_machine_that_polls_too_early_waits_longer(anyone: Client) -> None:
    codes = await ask(anyone)
    await poll(anyone, codes)
    early = await anyone.post(f"{DEVICE}/token", json={"device_code": codes["device_code"]})

    assert early.json()["error"] == "slow_down"
    assert early.json()["interval"] == 10
    assert (await poll(anyone, codes)).json()["error"] == "slow_down"
    assert (await poll(anyone, codes | {"interval": 15})).json()["error"] == "authorization_pending"


async def test_a_denied_machine_gets_nothing(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes, decision="deny")
        listed = await browser.get("/v1/api-keys")

    assert (await poll(anyone, codes)).json()["error"] == "access_denied"
    assert "bld on" not in listed.text


async def test_a_code_expires_after_ten_minutes(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    clock.move(timedelta(minutes=10))
    async with alice.browser() as browser:
        typed = await browser.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})

    assert typed.status_code == 422
    assert (await poll(anyone, codes)).json()["error"] == "expired_token"


async def test_an_approval_in_the_last_moment_can_be_collected(
    anyone: Client, alice: Person, stop_clock: StopClock
) -> None:
    codes = await ask(anyone)
    stop_clock(clock.now() + timedelta(minutes=9, seconds=59))
    async with alice.browser() as browser:
        await decide(browser, codes)

    assert (await poll(anyone, codes)).status_code == 200


async def test_an_approval_that_nobody_collects_ends(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
    clock.move(timedelta(minutes=11))

    assert (await poll(anyone, codes)).json()["error"] == "invalid_grant"


async def test_a_lost_response_is_repeated_with_new_keys(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
    [lost] = (await poll(anyone, codes)).json()["keys"]
    [key] = (await poll(anyone, codes)).json()["keys"]

    assert key["secret"] != lost["secret"]
    assert (await alice.get(f"/v1/api-keys/{lost['id']}")).json()["revoked_at"]
    assert (await alice.get(f"/v1/api-keys/{key['id']}")).json()["revoked_at"] is None


async def test_who_has_revoked_a_key_ends_the_repetition(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
        [key] = (await poll(anyone, codes)).json()["keys"]
        await browser.delete(f"/v1/api-keys/{key['id']}")

    assert (await poll(anyone, codes)).json()["error"] == "invalid_grant"


async def test_two_polls_at_once_leave_one_set_of_keys(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
    clock.move(timedelta(seconds=5))
    token = {"device_code": codes["device_code"]}
    await asyncio.gather(*(anyone.post(f"{DEVICE}/token", json=token) for _ in range(4)))
    listed = (await alice.get("/v1/api-keys")).json()["items"]

    assert len([each for each in listed if each["label"].startswith("bld on") and not each["revoked_at"]]) == 1


async def test_a_member_gets_keys_of_their_own_account(anyone: Client, alice: Person, bob: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        browser.headers["X-Portfolio-Account"] = str(bob.account.id)
        await decide(browser, codes)
    [key] = (await poll(anyone, codes)).json()["keys"]

    assert (await alice.get(f"/v1/api-keys/{key['id']}")).status_code == 200


async def test_a_device_code_is_used_up(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
    await poll(anyone, codes)
    clock.move(timedelta(minutes=2))

    assert (await poll(anyone, codes)).json()["error"] == "invalid_grant"


async def test_a_response_is_repeated_twice_at_most(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)

    assert [(await poll(anyone, codes)).status_code for _ in range(4)] == [200, 200, 200, 400]


async def test_an_unknown_device_code_is_refused(anyone: Client) -> None:
    answer = await anyone.post(f"{DEVICE}/token", json={"device_code": "x" * 43})

    assert (answer.json()["code"], answer.json()["error"]) == ("device_code_invalid", "invalid_grant")


async def test_a_code_is_decided_once(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        path = await open_code(browser, codes)
        answers = await asyncio.gather(*(browser.post(f"{path}/decision", json=DEVELOPER) for _ in range(5)))
        again = await browser.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})

    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409, 409]
    assert again.status_code == 422


async def test_who_typed_the_code_last_decides(anyone: Client, alice: Person, bob: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as hers, bob.browser() as his:
        path = await open_code(hers, codes)
        await open_code(his, codes)
        decisions = [await each.post(f"{path}/decision", json=DEVELOPER) for each in (hers, his)]

    assert [each.status_code for each in decisions] == [404, 200]


async def test_of_two_people_at_once_one_decides(anyone: Client, alice: Person, bob: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as hers, bob.browser() as his:
        paths = await asyncio.gather(open_code(hers, codes), open_code(his, codes))
        decisions = await asyncio.gather(
            *(each.post(f"{paths[0]}/decision", json=DEVELOPER) for each in (hers, his))
        )

    assert sorted(each.status_code for each in decisions) == [200, 404]


async def test_a_stranger_does_not_see_the_request(anyone: Client, alice: Person, bob: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as hers, bob.browser() as his:
        path = await open_code(hers, codes)

        assert (await his.get(path)).status_code == 404
        assert (await his.post(f"{path}/decision", json=DEVELOPER)).status_code == 404


async def test_a_person_who_has_signed_in_again_decides(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as first, alice.browser() as second:
        path = await open_code(first, codes)

        assert (await second.post(f"{path}/decision", json=DEVELOPER)).status_code == 200


async def test_five_wrong_codes_end_the_tries_of_a_session(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        wrong = [await browser.post(f"{DEVICE}/code", json={"user_code": "2222-2222"}) for _ in range(5)]
        locked = await browser.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})
    async with alice.browser() as again:
        assert await open_code(again, codes)

    assert {each.status_code for each in wrong} == {422}
    assert "left in this session: 0." in wrong[-1].text
    assert locked.json()["code"] == "device_codes_used_up"


async def test_right_codes_do_not_count_as_wrong(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        for _ in range(6):
            await open_code(browser, codes)


async def test_wrong_codes_at_once_are_all_counted(alice: Person) -> None:
    async with alice.browser() as browser:
        answers = await asyncio.gather(
            *(browser.post(f"{DEVICE}/code", json={"user_code": "2222-2222"}) for _ in range(9))
        )

    assert sorted(each.status_code for each in answers) == [403] * 4 + [422] * 5


@pytest.mark.parametrize("written", [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
async def test_a_code_may_be_typed_as_people_do(anyone: Client, alice: Person, written: Any) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        assert await open_code(browser, codes | {"user_code": written(codes["user_code"])})


async def test_no_key_confirms(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    answers = [
        await client.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})
        for client in (alice, alice.test)
    ]

    assert [each.json()["code"] for each in answers] == ["person_required"] * 2


async def test_no_token_confirms(anyone: Client, alice: Person, service: Service) -> None:
    codes = await ask(anyone)
    for kind in (SessionKind.LOGIN, SessionKind.TOKEN):
        new = await alice.sign_in(kind=kind)
        async with Client(service, token=new.token) as program:
            answer = await program.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})
        assert answer.json()["code"] == "person_required"


async def test_support_does_not_confirm(anyone: Client, alice: Person, service: Service) -> None:
    codes = await ask(anyone)
    new = await alice.admit_support(may_write=True)
    async with Client(service, cookie=new.token) as support:
        support.headers["Sec-Fetch-Site"] = "same-origin"
        answer = await support.post(f"{DEVICE}/code", json={"user_code": codes["user_code"]})

    assert answer.status_code == 403


async def test_an_old_session_signs_in_again(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        path = await open_code(browser, codes)
        with clock.moved(timedelta(minutes=11)):
            answer = await browser.post(f"{path}/decision", json=DEVELOPER)

    assert answer.status_code == 401
    assert answer.json()["code"] == "fresh_sign_in_required"
    assert "/v1/auth/login" in answer.json()["next_action"]


async def test_an_approval_needs_a_key(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        answer = await decide(browser, codes, test_presets=[])

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "test_presets"]


async def test_the_limit_of_keys_is_shown_and_refused(anyone: Client, alice: Person, conn: Conn) -> None:
    fill = """
        INSERT INTO identity_keys
            (account_id, id, digest, label, kind, preset, prefix, last4, created_at, created_by)
        SELECT %s, gen_random_uuid(), uuid_send(gen_random_uuid()), 'x', 'test', 'developer_full', 'x', 'xxxx',
               now(), 'x'
        FROM generate_series(1, %s)
    """
    await conn.execute(fill, [alice.account.id, MAX_ACTIVE_KEYS - 3])
    codes = await ask(anyone)
    async with alice.browser() as browser:
        path = await open_code(browser, codes)
        shown = (await browser.get(path)).json()
        refused = await browser.post(f"{path}/decision", json=DEVELOPER | {"live_preset": "developer_full"})
        allowed = await browser.post(f"{path}/decision", json=DEVELOPER)

    assert shown["keys_left"] == 1
    assert refused.json()["code"] == "api_key_limit"
    assert allowed.status_code == 200


HOSTS = {
    "<script>alert(1)</script>": "script alert 1 script",
    "ada\u202egnp.exe": "ada gnp.exe",
    "a\u200bb\ufeff": "a b",
    "one\ntwo\r\n": "one two",
    "": "an unnamed machine",
    "\u0301\u0301": "an unnamed machine",
    "Käthes-MacBook.local": "Käthes-MacBook.local",
    "x" * 255: "x" * MAX_HOST,
}


@pytest.mark.parametrize("host", HOSTS)
async def test_the_name_of_a_machine_is_made_plain(anyone: Client, alice: Person, host: str) -> None:
    codes = await ask(anyone, host=host)
    async with alice.browser() as browser:
        shown = (await browser.get(await open_code(browser, codes))).json()

    assert shown["host"] == HOSTS[host]


async def test_an_approval_is_audited_with_the_machine(anyone: Client, alice: Person) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes)
        session = (await browser.get("/v1/auth/session")).json()["session"]["id"]
    await poll(anyone, codes)
    minted, approved = (await alice.get("/v1/account/audit")).json()["items"][:2]

    assert (approved["action"], approved["about"]["host"]) == ("device.approved", "ada-laptop")
    assert approved["about"]["address"]
    assert (minted["action"], minted["about"]["label"]) == ("api_key.minted", "bld on ada-laptop")
    assert minted["actor"]["id"] == approved["actor"]["id"] == session


async def test_the_account_gets_one_notice(
    anyone: Client, alice: Person, database: Database, settings: Settings
) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        await decide(browser, codes, live_preset="developer_full")
    await poll(anyone, codes)
    await poll(anyone, codes)
    await queue.run_pending(database, settings)
    [message] = emails_to(alice.account.email, settings.data_dir, name="*device_keys_created*.eml")

    assert message["Subject"] == "Keys for ada-laptop were made"
    assert emails_to(alice.account.email, settings.data_dir, name="*api_key_created*.eml") == []


@pytest.mark.maximum("device_requests")
async def test_waiting_machines_are_bounded(anyone: Client, conn: Conn) -> None:
    fill = """
        INSERT INTO identity_devices_requests
            (id, device_code_hash, user_code_hash, host, address, presets, asks_live, asks_agent, expires_at,
             interval_s)
        SELECT gen_random_uuid(), uuid_send(gen_random_uuid()), uuid_send(gen_random_uuid()), 'x', '', '{}', false,
               false, %s, 5
        FROM generate_series(1, %s)
    """
    await conn.execute(fill, [clock.now() + timedelta(minutes=5), MAX_OPEN])
    try:
        full = await anyone.post(f"{DEVICE}/authorize", json={})
        clock.move(timedelta(minutes=6))
        later = await anyone.post(f"{DEVICE}/authorize", json={})
    finally:
        await conn.execute("DELETE FROM identity_devices_requests")

    assert (full.status_code, full.json()["code"]) == (503, "device_requests_full")
    assert "retry-after" in full.headers
    assert later.status_code == 200


async def test_old_requests_are_deleted(anyone: Client, conn: Conn, database: Database) -> None:
    await conn.execute("DELETE FROM identity_devices_requests")  # of tests that have moved the clock
    await ask(anyone)
    clock.move(devices.LIFETIME + timedelta(hours=1) + timedelta(seconds=1))
    await old_rows.delete(database, "identity_devices_requests")

    assert await (await conn.execute("SELECT FROM identity_devices_requests")).fetchall() == []

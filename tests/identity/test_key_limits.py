"""API keys that end, and keys that work from some networks only."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from builders.app import Service, create_app, lifespan
from builders.identity import keys
from builders.identity.records import MAX_ACTIVE_KEYS, KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import INSTANT, StopClock
from tests.identity.make import PATH, WANTED, Json, mint
from tests.identity.sign_in_messages import Postbox

HERE, THERE = "192.0.2.7", "198.51.100.7"
ALLOWED = ["192.0.2.0/24", "2001:db8::/48"]
PUBLISHED = """
    SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = 'api_key.created' ORDER BY id DESC LIMIT 1
"""


async def asked_from(service: Service, secret: str, address: str | None, **headers: str) -> httpx.Response:
    """The answer to a request with this key from this address."""
    client = Client(service, secret)
    client._transport = httpx.ASGITransport(app=service, client=(address or "", 7))
    async with client:
        return await client.get("/v1/me", headers=headers)


def soon(**after: int) -> str:
    return (clock.now() + timedelta(**after)).isoformat()


async def test_a_key_expires_as_requested(alice: Person, service: Service) -> None:
    key = await mint(alice, expires_at=soon(hours=1))
    before = await asked_from(service, key["secret"], HERE)
    clock.move(timedelta(hours=1))
    after = await asked_from(service, key["secret"], HERE)

    assert before.status_code == 200
    assert (after.status_code, after.json()["code"]) == (401, "api_key_expired")
    assert after.headers["WWW-Authenticate"].startswith("Bearer")


async def test_a_key_ends_at_its_exact_instant(alice: Person, service: Service, stop_clock: StopClock) -> None:
    key = await mint(alice, expires_at=soon(hours=1))
    ends = datetime.fromisoformat(key["expires_at"])
    answers = []
    for at in (ends - INSTANT, ends):
        stop_clock(at)
        answers.append((await asked_from(service, key["secret"], HERE)).status_code)
    assert answers == [200, 401]


@pytest.mark.parametrize("moment", [{"seconds": -1}, {"days": -400}])
async def test_an_end_in_the_past_is_refused(alice: Person, moment: dict[str, int]) -> None:
    answer = await alice.post(PATH, json=WANTED | {"expires_at": soon(**moment)})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "expires_at"]


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59.999999-00:01"])
async def test_an_end_in_a_year_that_nothing_can_show_is_refused(alice: Person, value: str) -> None:
    answer = await alice.post(PATH, json=WANTED | {"expires_at": value})

    assert answer.status_code == 422
    assert answer.json()["code"] == "expires_at_far"
    assert (await mint(alice, expires_at="9999-12-31T23:59:59Z"))["expires_at"] == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("value", ["2099-01-01T00:00:00", "tomorrow", True])
async def test_an_end_is_a_moment(alice: Person, value: object) -> None:
    answer = await alice.post(PATH, json=WANTED | {"expires_at": value})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "expires_at"]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        *(("192.0.2.7", 200), ("::ffff:192.0.2.7", 200), ("2001:db8::1", 200), ("2001:db8::1%eth0", 200)),
        *(("198.51.100.7", 403), ("::ffff:198.51.100.7", 403), ("2001:db9::1", 403), ("::192.0.2.7", 403)),
        *(("", 403), ("testclient", 403)),
    ],
)
async def test_a_key_works_from_its_networks_alone(
    alice: Person, service: Service, address: str, status: int
) -> None:
    key = await mint(alice, allowed_ips=ALLOWED)

    answer = await asked_from(service, key["secret"], address)

    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "address_not_allowed"


async def test_what_one_address_was_answered_is_not_remembered_for_another(
    alice: Person, service: Service
) -> None:
    key = await mint(alice, allowed_ips=ALLOWED)

    answers = [(await asked_from(service, key["secret"], each)).status_code for each in (HERE, THERE) * 3]

    assert answers == [200, 403] * 3


async def test_an_address_that_the_client_writes_itself_does_not_count(alice: Person, service: Service) -> None:
    key = await mint(alice, allowed_ips=ALLOWED)

    for headers in (
        {"X-Forwarded-For": HERE},
        {"Forwarded": f"for={HERE}"},
        {"X-Real-IP": HERE},
        {"X-Forwarded-For": f"{HERE}, {HERE}", "Forwarded": f"for={HERE}"},
    ):
        assert (await asked_from(service, key["secret"], THERE, **headers)).status_code == 403


async def test_behind_a_trusted_proxy_the_client_counts(alice: Person, settings: Settings) -> None:
    key = await mint(alice, allowed_ips=ALLOWED)
    app = create_app(settings.model_copy(update={"trusted_proxies": ("10.0.0.0/8",)}))
    async with lifespan(app.api):
        statuses = [
            (await asked_from(app, key["secret"], peer, **{"X-Forwarded-For": chain})).status_code
            for peer, chain in (
                ("10.0.0.1", HERE),
                ("::ffff:10.0.0.1", HERE),
                ("10.0.0.1", f"{HERE}, {THERE}"),
                ("10.0.0.1", f"{THERE}, {HERE}, 10.0.0.2"),
                (THERE, HERE),
            )
        ]

    assert statuses == [200, 200, 403, 200, 403]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (["192.0.2.7"], ["192.0.2.7/32"]),
        (["2001:DB8::"], ["2001:db8::/128"]),
        (["::ffff:192.0.2.0/120"], ["192.0.2.0/24"]),
        (["0.0.0.0/0", "::/0", "0.0.0.0/0"], ["0.0.0.0/0", "::/0"]),
        (None, None),
    ],
)
async def test_networks_are_shown_in_one_form(
    alice: Person, sent: list[str] | None, shown: list[str] | None
) -> None:
    key = await mint(alice, allowed_ips=sent)

    [listed] = [each for each in (await alice.get(PATH)).json()["items"] if each["id"] == key["id"]]
    read = (await alice.get(f"{PATH}/{key['id']}")).json()
    assert key["allowed_ips"] == listed["allowed_ips"] == read["allowed_ips"] == shown


@pytest.mark.parametrize(
    "sent",
    [
        *([], ["192.0.2.7/24"], ["192.0.2.0/33"], ["example.net"], [""], ["fe80::1%eth0"], [7], "192.0.2.0/24"),
        [f"10.0.{n}.0/24" for n in range(51)],
    ],
)
async def test_an_invalid_list_of_networks_is_refused(alice: Person, sent: Any) -> None:
    answer = await alice.post(PATH, json=WANTED | {"allowed_ips": sent})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["body", "allowed_ips"]


async def test_a_rotated_key_keeps_its_limits(alice: Person, service: Service) -> None:
    key = await mint(alice, allowed_ips=ALLOWED, expires_at=soon(days=30))
    first = (await alice.post(f"{PATH}/{key['id']}/rotate", json={"overlap_hours": 1})).json()
    again = (await alice.post(f"{PATH}/{first['id']}/rotate", json={"overlap_hours": 1})).json()

    for new in (first, again):  # the end of the overlap is none that was asked for
        assert (new["allowed_ips"], new["expires_at"]) == (ALLOWED, key["expires_at"])
        assert (await asked_from(service, new["secret"], THERE)).status_code == 403


async def test_a_limited_key_makes_none_that_is_less_limited(alice: Person, service: Service) -> None:
    limited = await mint(alice, allowed_ips=["127.0.0.0/8"], expires_at=soon(days=2))
    plain = await mint(alice)
    async with Client(service, limited["secret"]) as client:
        inherited = await client.post(PATH, json=WANTED)
        narrower = await client.post(
            PATH, json=WANTED | {"allowed_ips": ["127.0.0.1"], "expires_at": soon(days=1)}
        )
        refused = [
            await client.post(PATH, json=WANTED | {"allowed_ips": ["0.0.0.0/0"]}),
            await client.post(PATH, json=WANTED | {"expires_at": soon(days=3)}),
            await client.post(f"{PATH}/{plain['id']}/rotate"),
        ]
        itself = await client.post(f"{PATH}/{limited['id']}/rotate")

    shown = [(each["allowed_ips"], each["expires_at"]) for each in (inherited.json(), itself.json(), limited)]
    assert len({str(each) for each in shown}) == 1
    assert narrower.json()["allowed_ips"] == ["127.0.0.1/32"]
    assert [(each.status_code, each.json()["code"]) for each in refused] == [(403, "api_key_limited")] * 3


async def test_refused_uses_are_in_the_audit_list_once_in_a_while(alice: Person, service: Service) -> None:
    key = await mint(alice, allowed_ips=ALLOWED, expires_at=soon(days=1))
    for _ in range(5):
        await asked_from(service, key["secret"], THERE)
    clock.move(timedelta(days=1))
    for _ in range(5):
        await asked_from(service, key["secret"], HERE)

    found = (await alice.get("/v1/account/audit", params={"action": "api_key.refused"})).json()["items"]

    assert [each["about"] for each in found] == [
        {"key_id": key["id"], "reason": "expired"},
        {"key_id": key["id"], "reason": "address_not_allowed", "address": THERE},
    ]
    assert {each["actor"]["id"] for each in found} == {key["id"]}


@pytest.mark.maximum("api_keys")
async def test_concurrent_requests_cannot_exceed_the_maximum_of_keys(alice: Person, database: Database) -> None:
    async with database.transaction() as conn:
        for _ in range(MAX_ACTIVE_KEYS - 7):
            await keys.create_key(
                conn,
                account_id=alice.account.id,
                label="one of many",
                key_kind=KeyKind.LIVE,
                preset=Preset.DEVELOPER_FULL,
                minted_by=KeyKind.LIVE,
                actor=OPERATOR,
            )

    answers = await asyncio.gather(
        *(alice.post(PATH, json=WANTED | {"expires_at": soon(days=1)}) for _ in range(12))
    )

    minted = [each.json() for each in answers if each.status_code == 200]
    refused = [each.json()["code"] for each in answers if each.status_code != 200]
    assert (len(minted), set(refused)) == (5, {"api_key_limit"})
    rotation = f"{PATH}/{minted[0]['id']}/rotate"
    assert (await alice.post(rotation, json={"overlap_hours": 1})).json()["code"] == "api_key_limit"
    assert (await alice.post(rotation, json={"overlap_hours": 0})).status_code == 200
    await alice.delete(f"{PATH}/{minted[1]['id']}")
    assert (await alice.post(PATH, json=WANTED)).status_code == 200
    clock.move(timedelta(days=1))
    assert (await alice.post(PATH, json=WANTED)).status_code == 200


async def test_the_account_is_mailed_of_each_new_key(
    alice: Person, postbox: Postbox, conn: psycopg.AsyncConnection[Any]
) -> None:
    key = await mint(alice, label="laptop", allowed_ips=ALLOWED)
    new: Json = (await alice.post(f"{PATH}/{key['id']}/rotate")).json()
    [[event]] = await (await conn.execute(PUBLISHED, [alice.account.id])).fetchall()

    messages = await postbox.key_notices(alice.account.email)

    assert (event["id"], event["replaces"], event["allowed_ips"]) == (new["id"], key["id"], ALLOWED)
    assert len(messages) == 2
    assert key["prefix"] in messages[0]
    assert "Replaces" not in messages[0]
    assert new["prefix"] in messages[1]
    assert f"Replaces: {key['prefix']}" in messages[1]
    assert not any(secret in message for message in messages for secret in (key["secret"], new["secret"]))

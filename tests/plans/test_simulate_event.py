"""Simulated events: the exact signed request of each sandbox destination, sent only with `deliver`."""

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, strategies as st
from standardwebhooks.webhooks import Webhook

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.webhooks import catalog
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver, saying
from tests.plans.make import Json
from tests.plans.simulations import SIMULATE, count_rows, list_errors, request_simulation, simulate_event
from tests.random_cases import cases
from tests.webhooks.make import create, deliveries, send_due
from tests.webhooks.reaching import reachable

ID = "0193a1b2-0000-7000-8000-0000000000aa"
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.sampled_from(["id", "address", "enabled", "destinations", "manifest", "labels", "domain"]) | st.text()


def verify(made: Json, rendered: Json) -> Json:
    """Verify the rendered request with the secret of the destination; return its payload."""
    Webhook(made["signing_secret"]).verify(rendered["body"], rendered["headers"])
    payload: Json = json.loads(rendered["body"])
    return payload


async def test_every_key_simulates_in_the_sandbox_account(alice: Person, service: Service) -> None:
    await create(alice)
    made = await create(alice.test)
    token = (await alice.sign_in()).token

    async with Client(service, token=token) as signed_in:
        for client in (alice, alice.test, signed_in):
            found = await simulate_event(client)
            assert [each["webhook_id"] for each in found["matched"]] == [made["id"]]


async def test_a_session_cookie_can_simulate(alice: Person, service: Service) -> None:
    made = await create(alice.test)
    async with Client(service, cookie=(await alice.sign_in()).token) as browser:
        body = {"type": "event", "event": "alias.created"}
        answer = await browser.post(SIMULATE, json=body, headers={"Origin": "http://builders.test"})

    assert [each["webhook_id"] for each in answer.json()["matched"]] == [made["id"]]


async def test_a_rendered_request_is_signed_and_contains_the_overrides(alice: Person) -> None:
    made = await create(alice.test)
    found = await simulate_event(alice, overrides={"id": ID, "address": "ada@harbour.example", "manifest": None})
    (rendered,) = found["rendered"]
    payload = verify(made, rendered)

    assert (rendered["method"], rendered["url"]) == ("POST", made["url"])
    assert rendered["headers"]["webhook-id"] == payload["id"] == found["event_id"]
    assert (payload["livemode"], payload["simulated"], payload["type"]) == (False, True, "alias.created")
    assert payload["account_id"] == str(alice.account.id)
    assert payload["data"]["id"] == ID
    assert payload["data"]["address"] == "ada@harbour.example"
    assert payload["data"]["manifest"] is None
    assert payload["data"]["domain"]  # from the example


async def test_the_response_does_not_contain_the_secret(alice: Person) -> None:
    made = await create(alice.test, signing_secret="a secret of our own, and long enough")
    answer = await request_simulation(alice, type="event", event="alias.created")

    assert made["signing_secret"] is None
    assert "a secret of our own" not in answer.text
    assert "secret" not in answer.text


async def test_both_secrets_sign_after_a_rotation(alice: Person) -> None:
    made = await create(alice.test)
    rotated = (await alice.test.post(f"/v1/notifications/webhooks/{made['id']}/rotate-secret")).json()
    (rendered,) = (await simulate_event(alice))["rendered"]

    assert verify(made, rendered) == verify(rotated, rendered)


async def test_each_destination_has_its_skip_reason(alice: Person) -> None:
    wanting = await create(alice.test, label="wanting")
    other = await create(alice.test, label="other", events=["promotion.*"])
    disabled = await create(alice.test, label="disabled", enabled=False)
    found = await simulate_event(alice)

    assert [(each["label"], each["would_deliver"], each["skip_reason"]) for each in found["matched"]] == [
        ("wanting", True, None),
        ("other", False, "not_subscribed"),
        ("disabled", False, "disabled"),
    ]
    assert [each["webhook_id"] for each in found["rendered"]] == [wanting["id"]]
    for made, reason in ((other, "not_subscribed"), (disabled, "disabled")):
        named = await simulate_event(alice, webhook_id=made["id"])
        assert [each["skip_reason"] for each in named["matched"]] == [reason]
        assert verify(made, named["rendered"][0])["data"]


async def test_a_seed_makes_the_payload_reproducible(alice: Person) -> None:
    await create(alice.test)
    first, second = [(await simulate_event(alice, seed="april"))["rendered"][0] for _ in range(2)]
    other = (await simulate_event(alice, seed="may"))["rendered"][0]
    without = (await simulate_event(alice))["rendered"][0]

    assert first["body"] == second["body"]
    assert len({each["headers"]["webhook-id"] for each in (first, other, without)}) == 3


async def test_nothing_is_sent_or_written_without_deliver(
    alice: Person, service: Service, conn: Conn, receiver: Receiver
) -> None:
    await create(alice.test, url=receiver.url)
    before = await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)
    await simulate_event(alice)

    assert (await count_rows(conn, alice.account.id), await count_rows(conn, alice.account.sandbox_id)) == before
    assert await send_due(service, account_id=alice.account.sandbox_id) == 0
    assert receiver.requests == []


async def test_the_delivered_request_equals_the_rendered_one(
    alice: Person, service: Service, conn: Conn, receiver: Receiver
) -> None:
    made = await create(alice.test, url=receiver.url)
    live = await create(alice, url=receiver.url)
    before = await count_rows(conn, alice.account.id)
    found = await simulate_event(alice, deliver=True, overrides={"id": ID})
    assert await send_due(service, account_id=alice.account.sandbox_id) == 1

    (rendered,), (listed,) = found["rendered"], await deliveries(alice.test)
    assert receiver.body.decode() == rendered["body"]
    Webhook(made["signing_secret"]).verify(receiver.body.decode(), dict(receiver.head))
    assert receiver.head["webhook-id"] == rendered["headers"]["webhook-id"]
    assert found["delivery_ids"] == [listed["id"]]
    assert (listed["simulated"], listed["livemode"], listed["status"]) == (True, False, "succeeded")
    assert await count_rows(conn, alice.account.id) == before
    assert await deliveries(alice, webhook_id=live["id"]) == []


async def test_only_matched_destinations_receive_the_event(alice: Person) -> None:
    await create(alice.test, enabled=False)
    await create(alice.test, events=["promotion.*"])

    assert (await simulate_event(alice, deliver=True))["delivery_ids"] == []
    assert await deliveries(alice.test) == []


async def test_a_failed_simulated_delivery_is_retried(alice: Person, service: Service) -> None:
    async with reachable(service) as receiver:
        await create(alice.test, url=receiver.url)
        receiver.answer = saying(BROKEN)
        await simulate_event(alice, deliver=True)
        await send_due(service, account_id=alice.account.sandbox_id)
    (listed,) = await deliveries(alice.test)
    assert (listed["status"], listed["attempt_count"], listed["simulated"]) == ("pending", 1, True)
    assert listed["next_attempt_at"]


@pytest.mark.maximum("simulated_deliveries")
async def test_sixty_simulated_deliveries_a_minute_are_the_maximum(alice: Person) -> None:
    for at in range(10):
        await create(alice.test, label=f"number {at}")
    for _ in range(6):
        await simulate_event(alice, deliver=True)
    clock.move(timedelta(seconds=20.6))  # Retry-After is rounded up
    late = await request_simulation(alice, type="event", event="alias.created", deliver=True)

    assert (late.status_code, late.json()["code"]) == (429, "webhook_test_limit")
    assert 0 < int(late.headers["Retry-After"]) <= 60
    assert (await simulate_event(alice))["rendered"]
    clock.move(timedelta(seconds=late.json()["retry_after"]))
    assert len((await simulate_event(alice, deliver=True))["delivery_ids"]) == 10


async def test_an_idempotency_key_sends_once(alice: Person) -> None:
    await create(alice.test)
    body = {"type": "event", "event": "alias.created", "deliver": True}
    first, again = [await alice.post(SIMULATE, json=body, headers={"Idempotency-Key": "once"}) for _ in range(2)]

    assert first.json() == again.json()
    assert len(await deliveries(alice.test)) == 1


async def test_live_and_foreign_webhooks_are_unknown(alice: Person, bob: Person) -> None:
    live, bobs = await create(alice), await create(bob.test)

    for webhook_id in (live["id"], bobs["id"], ID, "", "no id"):
        answer = await request_simulation(alice, type="event", event="alias.created", webhook_id=webhook_id)
        assert list_errors(answer) == {("body.webhook_id", "webhook_not_found")}
    assert (await simulate_event(alice))["matched"] == []


async def test_unknown_and_internal_events_are_refused(alice: Person) -> None:
    internal = next(each.name for each in outbox.list_events() if each.internal)
    for name in ("alias.creatd", internal):
        assert list_errors(await request_simulation(alice, type="event", event=name)) == {
            ("body.event", "event_unknown")
        }
    typo = await request_simulation(alice, type="event", event="alias.creatd")

    assert typo.json()["detail"][0]["did_you_mean"] == "alias.created"


async def test_overrides_are_validated_by_the_schema_of_the_event(alice: Person) -> None:
    answer = await request_simulation(
        alice, type="event", event="alias.created", overrides={"id": "5", "enabled": "true", "address": None}
    )
    assert list_errors(answer) == {
        ("body.overrides.id", "override_wrong"),
        ("body.overrides.enabled", "override_wrong"),
        ("body.overrides.address", "override_wrong"),
    }
    answer = await request_simulation(
        alice, type="event", event="alias.created", overrides={"addres": "ada@harbour.example"}
    )
    assert list_errors(answer) == {("body.overrides.addres", "override_unknown")}
    assert answer.json()["detail"][0]["did_you_mean"] == "address"
    answer = await request_simulation(
        alice, type="event", event="alias.created", overrides={"address": "a" * 70_000}
    )
    assert list_errors(answer) == {("body.overrides", "event_too_large")}


async def test_errors_of_the_body_have_their_location(alice: Person) -> None:
    asked: list[tuple[Json, set[tuple[str, str]]]] = [
        ({"type": "evnt"}, {("body.type", "simulation_type")}),
        ({}, {("body.type", "simulation_type")}),
        ({"type": "event"}, {("body.event", "missing")}),
        ({"type": "event", "event": "alias.created", "overide": {}}, {("body.overide", "unknown_field")}),
        ({"type": "check", "addresses": ["a"], "event": "x"}, {("body.event", "unknown_field")}),
        ({"type": "event", "event": "alias.created", "deliver": 1}, {("body.deliver", "bool_type")}),
        (
            {"type": "event", "event": "alias.created", "deliver": True, "seed": "x"},
            {("body", "seed_of_delivery")},
        ),
    ]
    for body, said in asked:
        assert list_errors(await alice.post(SIMULATE, json=body)) == said
    typo = await alice.post(SIMULATE, json={"type": "event", "event": "alias.created", "overide": {}})
    assert "overrides" in typo.json()["detail"][0]["msg"]
    assert "'event'" in (await alice.post(SIMULATE, json={"type": "evnt"})).json()["detail"][0]["msg"]


async def test_a_key_that_only_reads_is_refused_with_the_scope(
    dana: Person, alice: Person, anyone: Client
) -> None:
    for client in (dana, dana.test):
        answer = await request_simulation(client, type="event", event="alias.created")
        assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
        assert answer.json()["scope"] == "sandbox:write"
    assert (await request_simulation(anyone, type="event", event="alias.created")).status_code == 401
    del alice


@pytest.mark.parametrize("may_write", [False, True])
async def test_an_operator_session_cannot_simulate(alice: Person, service: Service, *, may_write: bool) -> None:
    await create(alice.test)
    session = await alice.admit_support(may_write=may_write)
    async with Client(service, token=session.token) as support:
        answer = await request_simulation(support, type="event", event="alias.created")

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")


def test_every_public_event_can_be_simulated() -> None:
    public = [each for each in outbox.list_events() if not each.internal]
    assert public
    for each in public:
        assert json.loads(catalog.apply_overrides(each, {}, loc=())) == json.loads(each.example.model_dump_json())


@given(overrides=st.dictionaries(MEMBERS, VALUES, max_size=4))
@cases(15)
async def test_any_overrides_give_a_response_or_a_422(alice: Person, overrides: dict[str, Any]) -> None:
    answer = await _sent(alice, overrides)
    assert answer.status_code in {200, 422}
    if answer.status_code == 422:
        assert all(each["loc"][0] == "body" for each in answer.json()["detail"])


async def _sent(alice: Person, overrides: dict[str, Any]) -> httpx.Response:
    content = json.dumps({"type": "event", "event": "alias.created", "overrides": overrides})
    return await alice.post(SIMULATE, content=content, headers={"Content-Type": "application/json"})

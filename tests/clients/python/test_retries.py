"""Repeated requests, against a server that fails: which ones, when, and with which key."""

import json
import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest

from builders_client import Builders, Retries, retries as client_retries, transport
from builders_client.errors import (
    ApiError,
    ConnectionFailed,
    DatabaseBusy,
    RateLimited,
    RequestInvalid,
    ServerError,
    TimedOut,
    TooManyRequestsError,
)
from builders_client.retries import Waiting
from tests.clients.python.far_end import Answer, Asked, FarEnd, answering, in_turn
from tests.published import published

FAST = Retries(first_wait=0.002, longest_wait=0.01)
BUSY = Answer(503, {"code": "database_busy", "status": 503, "next_action": "Repeat."}, {"Retry-After": "0"})
LOST = Answer(None)
IN_FLIGHT = Answer(409, {"code": "idempotency_in_flight", "status": 409}, {"Retry-After": "0"})
EMPTY = Answer(200, {"items": [], "next_cursor": None})
PLAN_ID, DIGEST = "0193a1b2-0000-7000-8000-000000000004", "sha256:00"


def example(name: str) -> Answer:
    """Return the example of a reply in the document."""
    schemas = published().document["components"]["schemas"]
    return Answer(201 if name == "ProjectWritten" else 200, schemas[name]["examples"][0])


def client_of(far_end: FarEnd, retries: Retries = FAST) -> Builders:
    return Builders("svc_live_key", base_url=far_end.address, retries=retries)


@pytest.fixture
def waits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing but the waits of the client take time, and these pass at once."""
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: sum(passed), sleep=passed.append, time=time.time)
    for module in (client_retries, transport):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.parametrize("failure", [BUSY, LOST, Answer(500), Answer(502), Answer(429, {}, {"Retry-After": "0"})])
def test_a_read_is_repeated(failure: Answer) -> None:
    with answering(in_turn(failure, failure, EMPTY)) as far_end, client_of(far_end) as client:
        assert list(client.projects.list_projects()) == []
    assert len(far_end.asked) == 3


@pytest.mark.parametrize("failure", [BUSY, LOST, IN_FLIGHT])
def test_a_repeated_post_has_the_same_key_and_the_same_bytes(failure: Answer) -> None:
    answers = in_turn(failure, failure, example("ProjectWritten"))
    with answering(answers) as far_end, client_of(far_end) as client:
        client.projects.create(name="Acme")
    assert len(far_end.asked) == 3
    assert len({(each.headers["idempotency-key"], each.body) for each in far_end.asked}) == 1


def test_each_post_has_a_key_of_its_own() -> None:
    with answering(in_turn(example("ProjectWritten"))) as far_end, client_of(far_end) as client:
        client.projects.create(name="Acme")
        client.projects.create(name="Acme")
        client.with_options(idempotency_key="mine").projects.create(name="Acme")
    first, second, third = [each.headers["idempotency-key"] for each in far_end.asked]
    assert first != second
    assert third == "mine"


def test_a_post_without_a_key_is_sent_once() -> None:
    with answering(in_turn(BUSY)) as far_end, client_of(far_end) as client, pytest.raises(DatabaseBusy):
        client.auth.request_login(email="ada@example.net")
    assert len(far_end.asked) == 1


def test_a_promotion_is_repeated_with_its_digest() -> None:
    with answering(in_turn(LOST, BUSY, example("PromotionReply"))) as far_end, client_of(far_end) as client:
        client.sandbox.promote(plan_id=PLAN_ID, digest=DIGEST)
    assert [json.loads(each.body)["digest"] for each in far_end.asked] == [DIGEST] * 3


def test_a_conditional_change_is_sent_once() -> None:
    with answering(in_turn(LOST)) as far_end, client_of(far_end) as client, pytest.raises(ConnectionFailed):
        client.projects.update("id", name="Acme", if_match='"1"')
    assert len(far_end.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 412, 422])
def test_a_refusal_is_not_repeated(status: int) -> None:
    refusal = Answer(status, {"code": "new_code", "status": status})
    with answering(in_turn(refusal)) as far_end, client_of(far_end) as client, pytest.raises(ApiError) as caught:
        client.projects.get("id")
    assert (len(far_end.asked), caught.value.code) == (1, "new_code")


def test_an_unknown_code_has_the_class_of_its_status() -> None:
    answer = Answer(429, {"code": "new_limit", "status": 429}, {"Retry-After": "3600"})
    with (
        answering(in_turn(answer)) as far_end,
        client_of(far_end) as client,
        pytest.raises(TooManyRequestsError) as caught,
    ):
        client.projects.get("id")
    assert caught.value.retry_after == 3600


def test_retry_after_is_waited_for() -> None:
    waits: list[Waiting] = []
    retries = Retries(on_wait=waits.append)
    busy = Answer(503, {}, {"Retry-After": "1"})
    with answering(in_turn(busy, EMPTY)) as far_end, client_of(far_end, retries) as client:
        client.projects.list_projects().first()
    assert 1 <= waits[0].seconds <= 1.1


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    limited = Answer(429, {"code": "rate_limited", "status": 429}, {"Retry-After": "3600"})
    with answering(in_turn(limited)) as far_end, client_of(far_end) as client, pytest.raises(RateLimited):
        client.projects.get("id")
    assert len(far_end.asked) == 1


def test_a_date_of_retry_after_is_read() -> None:
    limited = Answer(429, {}, {"Retry-After": formatdate(time.time() + 3600, usegmt=True)})
    with (
        answering(in_turn(limited)) as far_end,
        client_of(far_end) as client,
        pytest.raises(TooManyRequestsError) as caught,
    ):
        client.projects.get("id")
    assert caught.value.retry_after is not None
    assert 3500 < caught.value.retry_after <= 3600


@pytest.mark.usefixtures("waits_alone")
def test_the_deadline_is_of_all_attempts() -> None:
    retries = Retries(deadline=60, first_wait=3, longest_wait=6)
    with (
        answering(in_turn(LOST)) as far_end,
        client_of(far_end, retries) as client,
        pytest.raises(ConnectionFailed),
    ):
        client.projects.get("id")
    assert len(far_end.asked) > 2


def test_a_slow_answer_times_out_within_the_deadline() -> None:
    def answer(_: Asked) -> Answer:
        time.sleep(0.4)
        return EMPTY

    with (
        answering(answer) as far_end,
        client_of(far_end, Retries(deadline=0.1)) as client,
        pytest.raises(TimedOut),
    ):
        client.projects.get("id")


@pytest.mark.usefixtures("waits_alone")
def test_a_server_that_is_not_there_is_an_error_of_this_client() -> None:
    client = Builders("svc_live_key", base_url="http://127.0.0.1:1")
    with client, pytest.raises(ConnectionFailed) as caught:
        client.projects.get("id")
    assert caught.value.next_action


@pytest.mark.usefixtures("waits_alone")
def test_a_page_of_a_proxy_is_an_error_of_its_status() -> None:
    page = Answer(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"})
    with (
        answering(in_turn(page)) as far_end,
        client_of(far_end, Retries()) as client,
        pytest.raises(ServerError) as caught,
    ):
        client.projects.get("id")
    assert caught.value.code == "http_502"


def test_an_answer_that_trickles_ends_at_the_deadline() -> None:
    page = Answer(200, b"x" * 50, {"Content-Type": "application/json"}, pause=0.02)
    with (
        answering(in_turn(page)) as far_end,
        client_of(far_end, Retries(deadline=0.2)) as client,
        pytest.raises(TimedOut),
    ):
        client.projects.get("id")


@pytest.mark.parametrize("key", ["svc_live_key\n", "svc_live_key\r\nX-Other: 1"])
def test_a_key_with_a_line_break_is_not_sent(key: str) -> None:
    with (
        answering(in_turn(EMPTY)) as far_end,
        Builders(key, base_url=far_end.address) as client,
        pytest.raises(RequestInvalid) as caught,
    ):
        client.projects.get("id")
    assert far_end.asked == []
    assert "svc_live" not in str(caught.value)


def test_a_number_that_json_does_not_have_is_not_sent() -> None:
    given: dict[str, Any] = {"name": "Acme", "alias_limit": float("nan")}
    with (
        answering(in_turn(EMPTY)) as far_end,
        client_of(far_end) as client,
        pytest.raises(ValueError, match="JSON"),
    ):
        client.projects.create(**given)
    assert far_end.asked == []


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_an_id_that_names_another_path_is_not_sent(value: str) -> None:
    with answering(in_turn(EMPTY)) as far_end, client_of(far_end) as client, pytest.raises(ValueError, match="id"):
        client.aliases.release(value)
    assert far_end.asked == []


def test_an_id_is_one_part_of_the_path() -> None:
    answer = Answer(404, {"code": "x"})
    with answering(in_turn(answer)) as far_end, client_of(far_end) as client, pytest.raises(ApiError):
        client.aliases.release("../a/b?c#d")
    assert far_end.asked[0].path == "/v1/aliases/..%2Fa%2Fb%3Fc%23d"

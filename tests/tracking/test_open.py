"""GET /v1/t/o/{token}: the image is always the same; opens of valid tokens are recorded."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import httpx
import pytest
from hypothesis import given, strategies as st

from builders.app import Service
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import clock, ids
from builders.kit.visitors import Agent, Machine
from builders.mail import links
from builders.tracking.recorder import MIN_OPEN_DELAY
from tests.cast import Client, Person
from tests.conftest import INSTANT, StopClock
from tests.random_cases import cases
from tests.tracking.conftest import BASE, BROWSER, FindEvents, SendMessage, SentMessage

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

SAID = ("content-type", "content-length", "cache-control", "expires", "cross-origin-resource-policy")


def shown(answer: httpx.Response) -> tuple[int, bytes, Mapping[str, str]]:
    """Return the parts of a response that a client sees."""
    unlike = {"x-request-id"}
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k not in unlike}


async def test_returns_an_image_that_is_not_cached(anyone: Client, sent: SentMessage) -> None:
    answer = await anyone.get(sent.pixel)

    assert answer.status_code == 200
    assert len(answer.content) == 43
    assert answer.content.startswith(b"GIF89a")
    assert {name: answer.headers[name] for name in SAID} == {
        "content-type": "image/gif",
        "content-length": "43",
        "cache-control": "no-store, no-cache, must-revalidate, private, max-age=0",
        "expires": "0",
        "cross-origin-resource-policy": "cross-origin",
    }


async def test_an_open_of_a_person_is_recorded(
    anyone: Client, sent: SentMessage, find_events: FindEvents, alice: Person
) -> None:
    await anyone.get(sent.pixel, headers=BROWSER)

    [event] = await find_events(sent)
    assert abs(clock.now() - event.pop("created_at")) < timedelta(seconds=10)
    assert event == {
        "account_id": alice.account.id,
        "kind": "open",
        "url": None,
        "machine": None,
        "agent": Agent.BROWSER,
        "network": "127.0.0.0/24",
    }


async def test_concurrent_opens_are_recorded(
    anyone: Client, send_message: SendMessage, find_events: FindEvents
) -> None:
    several = [await send_message() for _ in range(3)]
    await asyncio.gather(*(anyone.get(each.pixel) for each in several * 10))
    assert [len(await find_events(each)) for each in several] == [10, 10, 10]


async def test_invalid_tokens_get_the_same_response(anyone: Client, sent: SentMessage) -> None:
    ours = await anyone.get(sent.pixel)
    stranger = Keyring([generate_secret()])
    forged = links.mint_links(stranger, base_url=BASE, message_id=sent.id).token
    gone = links.mint_links(sent.keyring, base_url=BASE, message_id=ids.new()).token
    for token in (forged, gone, "x", "%F0%9F%98%80", "0" * 48, sent.token + "A", sent.token[:-1]):
        assert shown(await anyone.get(f"/v1/t/o/{token}")) == shown(ours)


async def test_an_invalid_token_is_not_recorded(
    anyone: Client, sent: SentMessage, find_events: FindEvents
) -> None:
    for token in (sent.token[:-1] + "!", sent.token + "=", "!" + sent.token, sent.token[::-1]):
        assert (await anyone.get(f"/v1/t/o/{token}")).status_code == 200
    assert await find_events(sent) == []


@cases(10)
@given(at=st.integers(0, 47), to=st.characters(codec="ascii", categories=["L", "N"]))
async def test_a_changed_token_is_not_recorded(
    anyone: Client, sent: SentMessage, find_events: FindEvents, at: int, to: str
) -> None:
    token = sent.token[:at] + to + sent.token[at + 1 :]
    before = len(await find_events(sent))
    assert (await anyone.get(f"/v1/t/o/{token}")).status_code == 200
    assert len(await find_events(sent)) - before == (token == sent.token)


async def test_head_has_the_same_headers_and_records_nothing(
    anyone: Client, sent: SentMessage, find_events: FindEvents
) -> None:
    answer = await anyone.head(sent.pixel, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-length"] == "43"
    assert await find_events(sent) == []


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"User-Agent": "Mozilla/5.0"}, Machine.APPLE_PROXY),
        (
            {"User-Agent": "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko (via ggpht.com GoogleImageProxy)"},
            "image_proxy",
        ),
        (
            {"User-Agent": "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html"},
            "image_proxy",
        ),
        ({**BROWSER, "Sec-Purpose": "prefetch;prerender"}, "prefetch"),
        ({**BROWSER, "Purpose": "prefetch"}, "prefetch"),
        ({"User-Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, "scanner"),
        ({"User-Agent": "Mozilla/5.0 (compatible; bingbot/2.0)"}, "scanner"),
        ({"User-Agent": "curl/8.5.0"}, "program"),
        ({"User-Agent": ""}, "program"),
    ],
)
async def test_a_machine_is_recorded_with_the_reason(
    anyone: Client, sent: SentMessage, find_events: FindEvents, headers: dict[str, str], why: str
) -> None:
    assert (await anyone.get(sent.pixel, headers=headers)).status_code == 200
    [event] = await find_events(sent)
    assert event["machine"] == why


@pytest.mark.parametrize("ago", [None, timedelta(), timedelta(seconds=4)])
async def test_an_open_right_after_sending_is_a_machine(
    anyone: Client,
    send_message: SendMessage,
    find_events: FindEvents,
    stop_clock: StopClock,
    ago: timedelta | None,
) -> None:
    stop_clock(clock.now())
    sent = await send_message(ago=ago)
    await anyone.get(sent.pixel, headers=BROWSER)
    [event] = await find_events(sent)
    assert event["machine"] == "too_soon"


@pytest.mark.parametrize(("less", "machine"), [(INSTANT, "too_soon"), (timedelta(), None)])
async def test_a_person_opens_five_seconds_after_sending(
    anyone: Client,
    send_message: SendMessage,
    find_events: FindEvents,
    stop_clock: StopClock,
    less: timedelta,
    machine: str | None,
) -> None:
    stop_clock(clock.now())
    sent = await send_message(ago=MIN_OPEN_DELAY - less)
    await anyone.get(sent.pixel, headers=BROWSER)
    [event] = await find_events(sent)
    assert event["machine"] == machine


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ("::ffff:198.51.100.9", "198.51.100.0/24"),
        ("nonsense", None),
    ],
)
async def test_only_the_network_of_an_address_is_stored(
    service: Service, sent: SentMessage, find_events: FindEvents, client: str, network: str | None
) -> None:
    transport = httpx.ASGITransport(app=service, client=(client, 4000))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as somebody:
        await somebody.get(sent.pixel)
    [event] = await find_events(sent)
    assert event["network"] == network


async def test_an_open_from_the_network_of_apple_is_of_a_machine(
    service: Service, sent: SentMessage, find_events: FindEvents
) -> None:
    transport = httpx.ASGITransport(app=service, client=("17.58.1.2", 4000))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as apple:
        await apple.get(sent.pixel, headers=BROWSER)
    [event] = await find_events(sent)
    assert event["machine"] == "apple_proxy"

"""GET /v1/t/o/{token}: always the same image, and what is ours is recorded."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import httpx
import pytest
from hypothesis import HealthCheck, given, settings as trials, strategies as st

from builders.app import Service
from builders.kit.http.visitors import Agent, Machine
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import clock, ids
from builders.mail import service as mail
from tests.cast import Client, Person
from tests.tracking.conftest import BASE, BROWSER, Hits, Mailed, Make

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

SAID = ("content-type", "content-length", "cache-control", "expires", "cross-origin-resource-policy")


def shown(answer: httpx.Response) -> tuple[int, bytes, Mapping[str, str]]:
    """All that a client can see of it."""
    unlike = {"x-request-id"}
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k not in unlike}


async def test_answers_an_image_that_nobody_keeps(anyone: Client, mailed: Mailed) -> None:
    answer = await anyone.get(mailed.pixel)

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


async def test_a_person_who_opens_is_recorded(anyone: Client, mailed: Mailed, hits: Hits, alice: Person) -> None:
    await anyone.get(mailed.pixel, headers=BROWSER)

    [hit] = await hits(mailed)
    assert abs(clock.now() - hit.pop("created_at")) < timedelta(seconds=10)
    assert hit == {
        "account_id": alice.account.id,
        "kind": "open",
        "url": None,
        "machine": None,
        "agent": Agent.BROWSER,
        "network": "127.0.0.0/24",
    }


async def test_each_opening_is_recorded_also_at_once(anyone: Client, make: Make, hits: Hits) -> None:
    several = [await make() for _ in range(3)]
    await asyncio.gather(*(anyone.get(each.pixel) for each in several * 10))
    assert [len(await hits(each)) for each in several] == [10, 10, 10]


async def test_nothing_is_learnt_by_probing(anyone: Client, mailed: Mailed) -> None:
    ours = await anyone.get(mailed.pixel)
    stranger = Keyring([generate_secret()])
    forged = mail.mint_links(stranger, base_url=BASE, message_id=mailed.id).token
    gone = mail.mint_links(mailed.keyring, base_url=BASE, message_id=ids.new()).token
    for token in (forged, gone, "x", "%F0%9F%98%80", "0" * 48, mailed.token + "A", mailed.token[:-1]):
        assert shown(await anyone.get(f"/v1/t/o/{token}")) == shown(ours)


async def test_what_is_not_ours_is_not_recorded(anyone: Client, mailed: Mailed, hits: Hits) -> None:
    for token in (mailed.token[:-1] + "!", mailed.token + "=", "!" + mailed.token, mailed.token[::-1]):
        assert (await anyone.get(f"/v1/t/o/{token}")).status_code == 200
    assert await hits(mailed) == []


@trials(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(at=st.integers(0, 47), to=st.characters(codec="ascii", categories=["L", "N"]))
async def test_a_changed_token_is_not_recorded(
    anyone: Client, mailed: Mailed, hits: Hits, at: int, to: str
) -> None:
    token = mailed.token[:at] + to + mailed.token[at + 1 :]
    before = len(await hits(mailed))
    assert (await anyone.get(f"/v1/t/o/{token}")).status_code == 200
    assert len(await hits(mailed)) - before == (token == mailed.token)


async def test_head_has_the_same_headers_and_counts_nothing(anyone: Client, mailed: Mailed, hits: Hits) -> None:
    answer = await anyone.head(mailed.pixel, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-length"] == "43"
    assert await hits(mailed) == []


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
async def test_a_machine_is_kept_with_the_reason(
    anyone: Client, mailed: Mailed, hits: Hits, headers: dict[str, str], why: str
) -> None:
    assert (await anyone.get(mailed.pixel, headers=headers)).status_code == 200
    [hit] = await hits(mailed)
    assert hit["machine"] == why


@pytest.mark.parametrize("ago", [None, timedelta(), timedelta(seconds=4)])
async def test_what_comes_before_anybody_can_read_is_a_machine(
    anyone: Client, make: Make, hits: Hits, ago: timedelta | None
) -> None:
    mailed = await make(ago=ago)
    await anyone.get(mailed.pixel, headers=BROWSER)
    [hit] = await hits(mailed)
    assert hit["machine"] == "too_soon"


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ("::ffff:198.51.100.9", "198.51.100.0/24"),
        ("nonsense", None),
    ],
)
async def test_of_an_address_only_its_network_is_kept(
    service: Service, mailed: Mailed, hits: Hits, client: str, network: str | None
) -> None:
    transport = httpx.ASGITransport(app=service, client=(client, 4000))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as somebody:
        await somebody.get(mailed.pixel)
    [hit] = await hits(mailed)
    assert hit["network"] == network


async def test_apples_own_network_is_a_machine(service: Service, mailed: Mailed, hits: Hits) -> None:
    transport = httpx.ASGITransport(app=service, client=("17.58.1.2", 4000))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as apple:
        await apple.get(mailed.pixel, headers=BROWSER)
    [hit] = await hits(mailed)
    assert hit["machine"] == "apple_proxy"

"""`events.follow` over stops and kills: no event is missed, and one that repeats has the same id."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from builders.kit.db.connections import Database
from builders_client import AsyncBuilders, Builders
from builders_client.errors import CursorFileInvalid, InvalidError
from codegen.generate import PACKAGE
from tests.cast import Person
from tests.clients.python.far_end import Answer, Asked, answering
from tests.clients.python.make import live
from tests.webhooks.feeding import happen, relay

EVENTS, PAGE = 60, 7
ACCOUNT = "0193a1b2-0000-7000-8000-000000000001"
FOLLOW = """
import sys
from builders_client import Builders
client = Builders("svc_live_key", base_url=sys.argv[1])
for event in client.events.follow(sys.argv[2]):
    print(event.id, flush=True)
"""


async def handled(client: AsyncBuilders, file: Path, count: int, *, finish: bool = True) -> list[str]:
    """Return the ids of a number of events; unless `finish`, the program ends while it handles the last one."""
    seen: list[str] = []
    follower = client.events.follow(file, wait=0)
    async for event in follower:
        seen.append(event.id)
        if len(seen) == count and not finish:
            break
        if len(seen) > count:
            seen.pop()
            break
    await follower.aclose()  # type: ignore[attr-defined] # a generator
    return seen


async def test_a_restart_continues_after_the_handled_events(
    alice: Person, database: Database, tmp_path: Path
) -> None:
    await relay(database)
    for _ in range(6):
        await happen(database, alice.account.id)
    async with live(alice) as client:
        everything = [each.id for each in (await client.webhooks.read_events(limit=500)).items]
        first = await handled(client, tmp_path / "cursor", 3)
        rest = await handled(client, tmp_path / "cursor", len(everything) - 4)
    assert first + rest == everything[:-1]


async def test_the_event_that_was_not_finished_comes_again(
    alice: Person, database: Database, tmp_path: Path
) -> None:
    await happen(database, alice.account.id)
    await happen(database, alice.account.id)
    async with live(alice) as client:
        *_, last = await handled(client, tmp_path / "cursor", 2, finish=False)
        [again] = await handled(client, tmp_path / "cursor", 1, finish=False)
    assert again == last


async def test_events_are_selected_by_type(alice: Person, database: Database, tmp_path: Path) -> None:
    await happen(database, alice.account.id)
    async with live(alice) as client:
        async for event in client.events.follow(tmp_path / "cursor", types=["alias.*"], wait=0):
            assert event.type == "alias.created"
            break


async def test_a_cursor_of_another_account_is_refused(
    alice: Person, bob: Person, database: Database, tmp_path: Path
) -> None:
    await happen(database, alice.account.id)
    async with live(alice) as client:
        await client.webhooks.read_events()
        page = await client.webhooks.read_events()
    (tmp_path / "cursor").write_text(json.dumps({"cursor": page.resume_cursor, "handled": []}))
    async with live(bob) as client:
        with pytest.raises(InvalidError) as caught:
            await anext(aiter(client.events.follow(tmp_path / "cursor", wait=0)))
    assert caught.value.code == "cursor_invalid"


@pytest.mark.parametrize("text", ["", "cursor", "{}", "[]", '{"cursor": 1}'])
async def test_a_file_with_other_content_is_kept(alice: Person, tmp_path: Path, text: str) -> None:
    (tmp_path / "cursor").write_text(text)
    async with live(alice) as client:
        with pytest.raises(CursorFileInvalid):
            await anext(aiter(client.events.follow(tmp_path / "cursor")))
    assert (tmp_path / "cursor").read_text() == text


class Feed:
    """The far end: a feed with pages, which fails now and then."""

    def __init__(self) -> None:
        self.requests = 0

    def answer(self, asked: Asked) -> Answer:
        self.requests += 1
        if self.requests % 5 == 0:
            return Answer(None)
        query: Mapping[str, list[str]] = parse_qs(urlsplit(asked.path).query)
        begin = int(query.get("cursor", ["0"])[0])
        items = [_event(n) for n in range(begin, min(begin + PAGE, EVENTS))]
        time.sleep(0 if items else 0.05)
        return Answer(200, {"items": items, "next_cursor": None, "available_since": _TIME} | _after(begin, items))


_TIME = "2026-01-05T09:30:00Z"


def _event(n: int) -> dict[str, object]:
    event_id = f"0193a1b2-0000-7000-8000-{n:012}"
    return {"id": event_id, "type": "a.b", "timestamp": _TIME, "account_id": ACCOUNT, "livemode": True, "data": {}}


def _after(begin: int, items: list[dict[str, object]]) -> dict[str, str]:
    return {"resume_cursor": str(begin + len(items))}


def test_a_killed_program_misses_no_event(tmp_path: Path) -> None:
    with answering(Feed().answer) as far_end:
        seen: list[str] = []
        for stop_after in (13, 20, None):
            seen += _follow(far_end.address, tmp_path / "cursor", stop_after)
    wanted = [str(_event(n)["id"]) for n in range(EVENTS)]
    assert list(dict.fromkeys(seen)) == wanted  # each one, in the order of the feed
    assert len(seen) - len(wanted) <= 2 * 2  # at most the event in hand and the one on its way, at each kill


def _follow(address: str, file: Path, stop_after: int | None) -> list[str]:
    """Return the events that a program handles until it is killed, or has seen the last one."""
    command = [sys.executable, "-c", FOLLOW, address, str(file)]
    with subprocess.Popen(
        command, cwd=PACKAGE.parent, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": ""}
    ) as process:
        assert process.stdout is not None
        last = str(_event(EVENTS - 1)["id"])
        seen: list[str] = []
        for line in process.stdout:
            seen.append(line.strip())
            if len(seen) == stop_after or seen[-1] == last:
                break
        process.send_signal(signal.SIGKILL)
        return [*seen, *(line.strip() for line in process.stdout)]


def test_an_unreachable_service_is_waited_for(tmp_path: Path) -> None:
    feed = Feed()
    with answering(feed.answer) as far_end, Builders("svc_live_key", base_url=far_end.address) as client:
        seen = [each.id for each in islice(client.events.follow(tmp_path / "cursor"), EVENTS)]
    assert len(set(seen)) == EVENTS
    assert feed.requests > EVENTS / PAGE

"""`bld listen`, `bld events tail`, `bld trigger`: no event is missed, and the order is kept."""

import base64
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders_client.cli.passing import pass_on, resources
from builders_client.webhooks import verify
from codegen.generate import PACKAGE
from tests.cast import Person
from tests.clients.python.cli.make import Bld, Ran
from tests.clients.python.far_end import Answer, FarEnd, answering, in_turn
from tests.clients.python.test_events import EVENTS, Feed, _event
from tests.webhooks.feeding import happen, relay

SECRET = f"whsec_{base64.b64encode(b'x' * 32).decode()}"
SAVE = "import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write(sys.stdin.read() + chr(10))"


@pytest.fixture
async def three(database: Database, alice: Person) -> None:
    """Three events happen."""
    await relay(database)
    for _ in range(3):
        await happen(database, alice.account.id)


async def forward(bld: Bld, far_end: FarEnd, *words: str) -> Ran:
    return await bld("listen", "--forward", far_end.address, "--no-follow", *words, BLD_WEBHOOK_SECRET=SECRET)


async def events(bld: Bld) -> list[dict[str, Any]]:
    lines = (await bld("events", "tail", "--no-follow", "--jsonl")).out.split("\n")[:-1]
    return [json.loads(line) for line in lines]


async def stored(bld: Bld) -> list[str]:
    return [each["id"] for each in await events(bld)]


@pytest.mark.usefixtures("three")
async def test_each_event_is_signed_again_in_its_order(bld: Bld) -> None:
    with answering(in_turn(Answer(200))) as far_end:
        done = await forward(bld, far_end)
    assert done.code == 0, done.err
    verified = [verify(each.body, each.headers, SECRET) for each in far_end.asked]
    assert [each.id for each in verified] == await stored(bld)
    assert [each.headers["webhook-id"] for each in far_end.asked] == [each.id for each in verified]


@pytest.mark.usefixtures("three")
async def test_a_second_listener_continues_after_the_first(bld: Bld, alice: Person, database: Database) -> None:
    with answering(in_turn(Answer(200))) as far_end:
        await forward(bld, far_end)
        before = len(far_end.asked)
        await happen(database, alice.account.id)
        await forward(bld, far_end)
    assert [each.headers["webhook-id"] for each in far_end.asked][before:] == (await stored(bld))[before:]


@pytest.mark.usefixtures("three")
async def test_a_refused_event_comes_again_before_the_next(bld: Bld) -> None:
    with answering(in_turn(Answer(500), Answer(None), Answer(200))) as far_end:
        done = await forward(bld, far_end)
    ids = [each.headers["webhook-id"] for each in far_end.asked]
    assert done.code == 0
    assert ids[0] == ids[1] == ids[2]
    assert ids[2:] == await stored(bld)


@pytest.mark.usefixtures("three")
async def test_a_listener_that_gives_up_begins_with_the_same_event(bld: Bld) -> None:
    with answering(in_turn(Answer(200), Answer(500), Answer(500), Answer(200))) as far_end:
        assert (await forward(bld, far_end, "--attempts", "2")).code == 1
        assert (await forward(bld, far_end)).code == 0
    ids = [each.headers["webhook-id"] for each in far_end.asked]
    assert ids[1] == ids[2] == ids[3]
    assert list(dict.fromkeys(ids)) == await stored(bld)


@pytest.mark.usefixtures("three")
async def test_with_concurrency_events_of_one_resource_keep_their_order(bld: Bld) -> None:
    with answering(in_turn(Answer(200), Answer(500), Answer(200))) as far_end:
        assert (await forward(bld, far_end, "--concurrency", "4")).code == 0
        assert (await forward(bld, far_end)).code == 0
    about = {each["id"]: resources(each) for each in await events(bld)}
    seen = list(dict.fromkeys(each.headers["webhook-id"] for each in far_end.asked))
    assert sorted(seen) == sorted(about)
    assert len(far_end.asked) == len(about) + 1  # one was refused
    alias = [each for each in about if about[each] == about[list(about)[-1]]]
    assert len(alias) == 3
    assert [each for each in seen if each in alias] == alias


def test_events_of_other_resources_do_not_wait_and_one_without_waits_for_all() -> None:
    both = threading.Barrier(2)
    started: list[str] = []

    def deliver(event: Mapping[str, Any]) -> None:
        started.append(event["id"])
        if event["id"] in {"a1", "b1"}:
            both.wait(30)  # fails unless they run at once

    given = [
        {"id": name, "type": "alias.updated", "data": {"id": name[0]} if name != "all" else {"email": "x"}}
        for name in ("a1", "a2", "b1", "b2", "all", "a3")
    ]
    ended = [each["id"] for each in pass_on(given, deliver, concurrency=2)]
    assert sorted(started[:2]) == ["a1", "b1"]
    assert ended.index("a1") < ended.index("a2")
    assert ended.index("b1") < ended.index("b2")
    assert ended[4:] == started[4:] == ["all", "a3"]


@pytest.mark.parametrize(
    ("kind", "data", "found"),
    [
        ("alias.created", {"id": "1", "domain": "harbour.example", "project_id": "2"}, {"1"}),
        (
            "portfolio.renewal.recorded",
            {"entry_id": "1", "domain_id": "2", "domain": "a.com"},
            {"1", "2", "a.com"},
        ),
        ("profile.updated", {"changed": ["name"]}, set()),
    ],
)
def test_the_data_name_the_resources(kind: str, data: dict[str, Any], found: set[str]) -> None:
    assert resources({"id": "0", "type": kind, "data": data}) == found


@pytest.mark.usefixtures("three")
async def test_a_redirect_is_not_followed(bld: Bld) -> None:
    with answering(in_turn(Answer(200))) as other:
        away = Answer(307, headers={"Location": other.address})
        with answering(in_turn(away)) as far_end:
            done = await forward(bld, far_end, "--attempts", "1")
    assert (done.code, "status 307" in done.err, other.asked) == (1, True, [])


@pytest.mark.usefixtures("three")
async def test_a_program_reads_the_event_on_its_input(bld: Bld, tmp_path: Path) -> None:
    (tmp_path / "save.py").write_text(SAVE)
    command = f"{sys.executable} {tmp_path}/save.py '{tmp_path}/seen; touch $HOME'"
    done = await bld("listen", "--exec", command, "--no-follow")
    assert done.code == 0, done.err
    lines = (tmp_path / "seen; touch $HOME").read_text().splitlines()
    assert [json.loads(each)["id"] for each in lines] == await stored(bld)


async def test_a_program_that_does_not_exist_is_a_usage_error(bld: Bld, three: None) -> None:  # noqa: ARG001 - a fixture
    assert (await bld("listen", "--exec", "/nonexistent/program", "--no-follow")).code == 2


@pytest.mark.parametrize(
    "words", [[], ["--forward", "x"], ["--forward", "http://x", "--exec", "y"], ["--exec", "'"]]
)
async def test_one_receiver_is_needed(bld: Bld, words: list[str]) -> None:
    assert (await bld("listen", *words)).code == 2


async def test_without_a_secret_one_is_made_and_kept(bld: Bld, three: None) -> None:  # noqa: ARG001 - a fixture
    with answering(in_turn(Answer(200))) as far_end:
        first = await bld("listen", "--forward", far_end.address, "--no-follow")
        second = await bld("listen", "--forward", far_end.address, "--no-follow")
    assert first.err == second.err
    secret = first.err.split()[-1]
    assert verify(far_end.asked[0].body, far_end.asked[0].headers, secret).id


async def test_two_listeners_do_not_share_a_position(bld: Bld, tmp_path: Path) -> None:
    with (tmp_path / "position.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = await bld("listen", "--exec", "true", "--cursor-file", str(tmp_path / "position"), "--no-follow")
    assert (done.code, "--cursor-file" in done.err) == (2, True)


def test_killed_listeners_miss_no_event(tmp_path: Path) -> None:
    with answering(Feed().answer) as far_end, answering(in_turn(Answer(200))) as receiver:
        for stop_after in (13, 20, None):
            _listen(far_end.address, receiver.address, tmp_path, stop_after)
        seen = [each.headers["webhook-id"] for each in receiver.asked]
    wanted = [str(_event(n)["id"]) for n in range(EVENTS)]
    assert list(dict.fromkeys(seen)) == wanted  # each one, in the order of the feed
    assert len(seen) - len(wanted) <= 2 * 2


def _listen(address: str, receiver: str, home: Path, stop_after: int | None) -> None:
    """Run `bld listen` until it has passed on a number of events, or the last one; then kill it."""
    command = [sys.executable, "-m", "builders_client.cli", "listen", "--forward", receiver, "--jsonl"]
    env = os.environ | {
        "PYTHONPATH": "",
        "XDG_STATE_HOME": str(home),
        "BUILDERS_API_URL": address,
        "BUILDERS_API_KEY": "svc_live_key",
        "BLD_WEBHOOK_SECRET": SECRET,
    }
    with subprocess.Popen(command, cwd=PACKAGE.parent, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        lines: Iterator[str] = iter(process.stdout)
        for count, line in enumerate(lines, 1):
            if count == stop_after or json.loads(line)["id"] == _event(EVENTS - 1)["id"]:
                break
        process.send_signal(signal.SIGKILL)


async def test_an_event_is_triggered_in_the_sandbox(bld: Bld) -> None:
    done = await bld("trigger", "alias.created", "--dry-run", "--json", "event,delivery_ids")
    assert done.json == {"event": "alias.created", "delivery_ids": []}


async def test_an_unknown_event_cannot_be_triggered(bld: Bld) -> None:
    assert (await bld("trigger", "alias.craeted")).code == 1

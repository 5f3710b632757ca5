"""Where a client runs: several processes, event loops and threads, and the environment of each."""

import asyncio
import copy
import gc
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from builders_client import AsyncBuilders, Builders, Retries, claims, errors
from builders_client.claims import ApprovalPending, ApprovalRefused, ClaimFailed, NameRefused, TotalTooHigh
from builders_client.cli.faults import Fault
from builders_client.errors import ConnectionFailed, EnvironmentInvalid, RequestInvalid
from builders_client.generated.models.sandbox import PlanReply, PromotionReply
from builders_client.problems import ApiError, BuildersError
from builders_client.retries import Waiting
from codegen.generate import PACKAGE
from tests.clients.python.far_end import Answer, Asked, FarEnd, answering, in_turn
from tests.published import published

NOBODY = "http://127.0.0.1:1"
# A program that makes one call, then forks. Its children compare the answers with their requests.
FORKS = """
import asyncio, os, sys
from builders_client import AsyncBuilders, Builders

address, form = sys.argv[1:]
client = (Builders if form == "sync" else AsyncBuilders)("svc_live_key", base_url=address)

async def read(ids):
    return [(await client.projects.get(each)).id for each in ids]

def ask(who):
    wanted = [f"{who}-{n}" for n in range(25)]
    found = [client.projects.get(each).id for each in wanted] if form == "sync" else asyncio.run(read(wanted))
    return found == wanted

assert ask("first")
children = []
for place in range(4):
    if not (child := os.fork()):
        os._exit(0 if ask(place) else 1)
    children.append(child)
assert ask("parent")
assert [os.waitpid(each, 0)[1] for each in children] == [0] * 4
"""


def schema(name: str) -> Any:
    """Return the example of a reply in the document."""
    return published().document["components"]["schemas"][name]["examples"][0]


def echo(asked: Asked) -> Answer:
    """Answer with the project that is asked for."""
    return Answer(200, {**schema("ProjectReply"), "id": asked.path.rpartition("/")[2]})


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_forked_process_gets_the_answers_of_its_own_requests(form: str) -> None:
    def answer(asked: Asked) -> Answer:
        time.sleep(0.01)  # so that the requests of all processes are under way at once
        return echo(asked)

    with answering(answer) as far_end:
        command = [sys.executable, "-W", "error::DeprecationWarning", "-c", FORKS, far_end.address, form]
        done = subprocess.run(
            command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False, timeout=120
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_between_calls_the_client_has_no_thread() -> None:
    before = set(threading.enumerate())
    with answering(echo) as far_end, Builders("svc_live_key", base_url=far_end.address) as client:
        client.projects.get("1")
        assert {each.name for each in set(threading.enumerate()) - before if "builders" in each.name} == set()


def test_threads_share_a_client() -> None:
    wanted = [f"{n}" for n in range(40)]
    with answering(echo) as far_end, Builders("svc_live_key", base_url=far_end.address) as client:
        found: list[str] = []
        threads = [
            threading.Thread(target=lambda at=each: found.append(client.projects.get(at).id)) for each in wanted
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert sorted(found) == sorted(wanted)


async def test_the_client_without_await_works_inside_an_event_loop() -> None:
    with answering(echo) as far_end, Builders("svc_live_key", base_url=far_end.address) as client:
        assert client.projects.get("1").id == "1"


def test_one_client_serves_two_event_loops() -> None:
    def found(address: str) -> list[str]:
        client = AsyncBuilders("svc_live_key", base_url=address)

        async def read(project: str) -> str:
            return (await client.projects.get(project)).id

        one_after_another = [asyncio.run(read("1")), asyncio.run(read("2"))]
        with asyncio.Runner() as first, asyncio.Runner() as second:
            at_once = [runner.run(read(each)) for runner, each in ((first, "3"), (second, "4"), (first, "5"))]
            for runner in (first, second):
                runner.run(client.aclose())
        return one_after_another + at_once

    with answering(echo) as far_end, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the connections of `asyncio.run` end with its loop
        assert found(far_end.address) == ["1", "2", "3", "4", "5"]
        gc.collect()


def test_a_closed_client_opens_new_connections() -> None:
    with answering(echo) as far_end:
        client = Builders("svc_live_key", base_url=far_end.address)
        for each in ("1", "2"):
            assert client.projects.get(each).id == each
            client.close()


def every_error() -> Sequence[BuildersError]:
    """Return an error of each class."""
    plan = PlanReply.model_validate(schema("PlanReply"))
    promotion = PromotionReply.model_validate(schema("PromotionReply"))
    members = {
        "detail": [{"loc": ["body", "name"], "msg": "Too long.", "type": "too_long"}],
        "next_action": "Wait.",
    }
    kinds = {*errors.BY_CODE.values(), *errors.BY_STATUS.values(), ApiError, errors.ServerError}
    return [
        *(kind(status=422, members=members, request_id="r1", retry_after=2.5) for kind in kinds),
        *(
            kind("Text.")
            for kind in BuildersError.__subclasses__()
            if kind.__module__ == "builders_client.problems" and kind is not ApiError
        ),
        errors.TimedOut("late"),
        *(kind(plan) for kind in (NameRefused, ApprovalPending, ApprovalRefused)),
        TotalTooHigh(plan, {}, claims.limit("1.00 USD")),
        ClaimFailed(promotion),
        Fault("Text.", next_action="Look.", code=5),
    ]


def test_errors_are_copied_and_pass_to_other_processes() -> None:
    for error in every_error():
        copies = [copy.copy(error), copy.deepcopy(error)]
        protocols = range(pickle.HIGHEST_PROTOCOL + 1)
        copies += [pickle.loads(pickle.dumps(error, each)) for each in protocols]  # noqa: S301 - our own
        for each in copies:
            assert type(each) is type(error)
            assert (str(each), each.args, vars(each)) == (str(error), error.args, vars(error))


def key_of(far_end: FarEnd) -> str | None:
    return far_end.asked[-1].headers.get("idempotency-key")


def test_options_stay_until_they_are_given_again() -> None:
    with (
        answering(in_turn(Answer(201, schema("ProjectWritten")))) as far_end,
        Builders("svc_live_key", base_url=far_end.address) as client,
    ):
        mine = client.with_options(idempotency_key="K", portfolio="P").with_options(retries=Retries(deadline=9))
        mine.projects.create(name="Acme")
        assert (key_of(far_end), mine.retries.deadline) == ("K", 9)
        mine.with_options(idempotency_key=None).projects.create(name="Acme")
        assert key_of(far_end) not in {"K", None}
        with pytest.raises(BuildersError):
            mine.portfolio.list_domains().first()
        assert far_end.asked[-1].headers["x-portfolio-account"] == "P"
        with pytest.raises(BuildersError):
            mine.with_options(portfolio=None).portfolio.list_domains().first()
        assert "x-portfolio-account" not in far_end.asked[-1].headers


def test_an_error_of_the_callback_ends_the_call() -> None:
    def stop(waiting: Waiting) -> None:
        raise ConnectionFailed(f"{waiting.reason} {waiting.connected}")

    client = Builders("svc_live_key", base_url=NOBODY, retries=Retries(on_wait=stop))
    with client, pytest.raises(ConnectionFailed, match=r"refused False"):
        client.projects.get("id")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Remove the variables of proxies and certificates."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


UNUSABLE = ["socks5://127.0.0.1:1", "ftp://127.0.0.1:1", "http://[::1"]


@pytest.mark.parametrize("no_proxy", ["127.0.0.1", "localhost, 127.0.0.1", "10.0.0.0/8,127.0.0.0/8", "*"])
def test_an_address_that_no_proxy_names_is_reached_without_the_proxy(
    environment: pytest.MonkeyPatch, no_proxy: str
) -> None:
    environment.setenv("NO_PROXY", no_proxy)
    with answering(echo) as far_end:
        for proxy in [*UNUSABLE, NOBODY]:
            environment.setenv("ALL_PROXY", proxy)
            with Builders("svc_live_key", base_url=far_end.address) as client:
                assert client.projects.get("1").id == "1"


@pytest.mark.parametrize("proxy", UNUSABLE)
@pytest.mark.parametrize("no_proxy", ["", "10.0.0.0/8,other.example"])
def test_a_proxy_that_cannot_be_used_is_an_error_of_the_client(
    environment: pytest.MonkeyPatch, proxy: str, no_proxy: str
) -> None:
    environment.setenv("ALL_PROXY", proxy)
    environment.setenv("NO_PROXY", no_proxy)
    client = Builders("svc_live_key", base_url=NOBODY)
    with client, pytest.raises(EnvironmentInvalid) as caught:
        client.projects.get("1")
    assert "ALL_PROXY" in (caught.value.next_action or "")


def test_a_proxy_gets_the_requests(environment: pytest.MonkeyPatch) -> None:
    with answering(echo) as proxy:
        environment.setenv("HTTP_PROXY", proxy.address)
        with Builders("svc_live_key", base_url="http://service.invalid") as client:
            assert client.projects.get("1").id == "1"
    assert proxy.asked[0].path == "http://service.invalid/v1/builders/projects/1"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_an_error_of_the_client(
    environment: pytest.MonkeyPatch, tmp_path: Any, content: str | None
) -> None:
    file = tmp_path / "certificates.pem"
    if content is not None:
        file.write_text(content)
    environment.setenv("SSL_CERT_FILE", str(file))
    with Builders("svc_live_key", base_url="https://127.0.0.1:1") as client, pytest.raises(EnvironmentInvalid):
        client.projects.get("1")


@pytest.mark.parametrize("key", ["svc_live_…", "svc_live_\udcff"])
def test_a_key_that_is_not_ascii_is_not_sent(key: str) -> None:
    client = Builders(key, base_url=NOBODY)
    with client, pytest.raises(RequestInvalid) as caught:
        client.projects.get("1")
    assert "svc_live" not in str(caught.value)


def test_own_http_is_a_function() -> None:
    transport: Any = httpx2.AsyncHTTPTransport()
    with pytest.raises(TypeError, match="function"):
        Builders("svc_live_key", base_url="http://builders.test", http=transport)
    made = []

    def make() -> httpx2.AsyncBaseTransport:
        made.append(httpx2.MockTransport(lambda _: httpx2.Response(200, json=schema("ProjectReply"))))
        return made[-1]

    with Builders("svc_live_key", base_url="http://builders.test", http=make) as client:
        client.projects.get("1")
        client.projects.get("2")
    assert len(made) == 1

"""The service as it is run: two HTTP processes, a Redis, and a proxy's word for who asks."""

import http.client
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.serving import Serving
from tests.kit.embedded.servers import kill, processes, wait_until
from tests.redis import Redis

QUOTA = 60  # a tenth of what an address has by default
PATH = "/v1/catalog/categories"


@pytest.fixture
def running(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """A service with two HTTP processes; its data folder is where PostgreSQL's user may pass, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="builders-limits-"))
    folder.chmod(0o755)
    monkeypatch.setenv("BUILDERS_REDIS_URL", redis.url)
    monkeypatch.setenv("BUILDERS_LIMITS", "0.1")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which is uvicorn's own and not asked
    with Serving(folder / "data", "--workers", "2") as serving:
        serving.wait()
        wait_until(lambda: serving.is_whole(workers=2))
        yield serving
    kill(*processes(folder / "data"))
    shutil.rmtree(folder)


def ask(serving: Serving, **headers: str) -> int:
    """The status of a request on a connection of its own, so that either process may get it."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=10)
    connection.request("GET", PATH, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_two_processes_share_a_limit_and_believe_no_stranger(running: Serving) -> None:
    forged = ({"X-Forwarded-For": f"192.0.2.{n}", "Forwarded": f"for=192.0.2.{n}"} for n in range(2 * QUOTA))

    found = Counter(ask(running, **headers) for headers in forged)

    assert found.keys() == {200, 429}
    assert 0.9 * QUOTA <= found[200] <= QUOTA
    lines = [json.loads(line) for line in running.log().splitlines() if '"event":"request"' in line]
    assert {line["client"] for line in lines} == {"127.0.0.1"}

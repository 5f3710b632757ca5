import re
import time
from datetime import timedelta

import pytest

from builders.aliases.events import ALIAS_CREATED
from builders.kit import clock, ids, news, outbox
from builders.kit.db import Database
from tests.cast import Client
from tests.probes.conftest import MakeAsker
from tests.probes.relay import Relay
from tests.redis import Redis

NOWHERE = "host=/nowhere"
BOUND_S = 2.0


async def test_a_service_with_its_database_is_ready(anyone: Client) -> None:
    answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    found = answer.json()
    assert (found["status"], found["detail"]) == ("ready", "ready")
    assert found["checks"]["database"]["status"] == "ok"
    assert 0 <= found["checks"]["database"]["latency_ms"] < 2000
    assert found["checks"]["cache"] == {"status": "skipped", "latency_ms": None}


async def test_a_database_that_is_away_is_named_within_the_bound(asker: MakeAsker) -> None:
    client = await asker(database_url=NOWHERE, pool_timeout_s=30)
    begin = time.monotonic()

    answer = await client.get("/readyz")

    assert time.monotonic() - begin < BOUND_S
    assert answer.status_code == 503
    assert answer.headers["Cache-Control"] == "no-store"
    assert int(answer.headers["Retry-After"]) > 0
    assert (answer.json()["status"], answer.json()["detail"]) == ("not_ready", "database: away")
    assert answer.json()["checks"]["database"] == {"status": "away", "latency_ms": None}


async def test_a_database_that_hangs_is_named_within_the_bound(asker: MakeAsker, relay: Relay) -> None:
    client = await asker(database_url=relay.conninfo)
    assert (await client.get("/readyz")).status_code == 200
    relay.hang()
    begin = time.monotonic()

    answer = await client.get("/readyz")

    assert time.monotonic() - begin < BOUND_S
    assert (answer.status_code, answer.json()["detail"]) == (503, "database: away")
    relay.flow()
    assert (await client.get("/readyz")).status_code == 200


async def test_a_cache_that_is_configured_is_asked(asker: MakeAsker, redis: Redis) -> None:
    client = await asker(redis_url=redis.url)

    found = (await client.get("/readyz")).json()

    assert (found["status"], found["detail"]) == ("ready", "ready")
    assert found["checks"]["cache"]["status"] == "ok"
    assert found["checks"]["cache"]["latency_ms"] is not None


async def test_a_cache_that_goes_and_comes_back_is_followed(asker: MakeAsker, redis: Redis) -> None:
    client = await asker(redis_url=redis.url)
    assert (await client.get("/readyz")).json()["checks"]["cache"]["status"] == "ok"
    redis.stop()
    begin = time.monotonic()

    without = await client.get("/readyz")

    assert time.monotonic() - begin < BOUND_S
    assert without.status_code == 200
    assert (without.json()["status"], without.json()["detail"]) == ("ready", "ready; cache: degraded")
    assert without.json()["checks"]["cache"] == {"status": "degraded", "latency_ms": None}
    redis.start()
    assert (await client.get("/readyz")).json()["checks"]["cache"]["status"] == "ok"


async def test_with_both_away_both_are_named_and_it_is_not_ready(asker: MakeAsker) -> None:
    answer = await (await asker(database_url=NOWHERE, redis_url="redis://127.0.0.1:1/0")).get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["detail"] == "database: away; cache: degraded"


@pytest.mark.parametrize("is_away", [True, False])
async def test_no_host_user_or_version_is_shown(asker: MakeAsker, relay: Relay, *, is_away: bool) -> None:
    away = {
        "database_url": "postgresql://ada:hidden@127.0.0.1:1/there",
        "redis_url": "redis://:hidden@127.0.0.1:1",
    }
    client = await asker(**(away if is_away else {"database_url": relay.conninfo}))

    answer = await client.get("/readyz")

    assert answer.status_code == (503 if is_away else 200)
    assert not re.search(r"hidden|ada|there|127\.|builders|/|\d\.\d|postgres|redis", answer.text, re.IGNORECASE)
    assert "server" not in answer.headers


async def test_events_that_nobody_tells_are_named_and_it_is_ready_all_the_same(
    anyone: Client, database: Database
) -> None:
    async with database.transaction() as conn:
        await outbox.publish(conn, ALIAS_CREATED, account_id=ids.new(), data=ALIAS_CREATED.example)
    assert (await anyone.get("/readyz")).json()["detail"] == "ready"
    clock.move(timedelta(seconds=90))

    answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert re.fullmatch(r"ready; outbox: events wait for 9\d s", answer.json()["detail"])
    assert answer.json()["checks"]["outbox"] == {"status": "degraded", "latency_ms": None}


@pytest.mark.parametrize("look", ["SELECT created_at FROM kit_nothing", "SELECT now() FROM pg_sleep(1)"])
async def test_an_outbox_that_cannot_be_looked_at_is_named_and_it_is_ready_all_the_same(
    anyone: Client, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    monkeypatch.setattr(news, "OLDEST", look)

    answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert answer.json()["detail"] == "ready; outbox: could not be looked at"
    assert answer.json()["checks"]["outbox"] == {"status": "degraded", "latency_ms": None}

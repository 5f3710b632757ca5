"""The bench runs: the three give the same answers, and a table comes out. Nothing here is timed."""

import asyncio
import json
import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench import load, run, stage
from bench.contenders import CONTENDERS
from bench.scenarios import Stage, get, scenarios, target
from builders.kit import migrate
from builders.kit.embedded.errors import EmbeddedFailed


@pytest.fixture(scope="module")
async def built(server: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[stage.Built]:
    """The stage, on a database of its own."""
    name = f"bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    own = make_conninfo(server, dbname=name)
    migrate.migrate(own)
    yield await stage.prepared(tmp_path_factory.mktemp("bench"), own)
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def measured(built: stage.Built) -> list[run.Line]:
    """A line of each scenario, after a look at the answers."""
    with run.serving(built, core=None) as servers:
        lines = [
            run.summed_up(scenario, run.measure(servers, scenario, seconds=0.05))
            for scenario in scenarios(built.stage).values()
        ]
        with pytest.raises(load.LoadFailed, match="404"):
            run.answer(servers[1], get("/v1/nothing"))
    return lines


async def test_the_three_give_the_same_answers_and_are_measured(built: stage.Built) -> None:
    lines = await asyncio.to_thread(measured, built)

    assert [line.scenario for line in lines] == [each.says for each in scenarios(built.stage).values()]
    for line in lines:
        assert line.rates.keys() == CONTENDERS.keys()
        assert min(line.of_limit, line.of_usual, *line.rates.values()) > 0
    rows = run.table(lines).splitlines()
    assert len(rows) == 2 + len(lines)
    assert len({row.count("|") for row in rows}) == 1


def test_different_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [run.Server(name=name, port=0, pid=0) for name in CONTENDERS]
    [scenario] = [each for name, each in scenarios(Stage(key="k", key_ids=["1"])).items() if name == "read"]

    monkeypatch.setattr(run, "answer", lambda server, _: {"same": True, "other": server.name == "usual"})
    with pytest.raises(load.LoadFailed, match=r"/v1/api-keys/1: \w+ and \w+ differ"):
        run.compare(servers, scenario)

    monkeypatch.setattr(run, "answer", lambda *_: {"same": True})
    run.compare(servers, scenario)


def test_a_request_knows_its_target() -> None:
    assert target(get("/v1/catalog/suggest?q=jane%20doe")) == "/v1/catalog/suggest?q=jane%20doe"
    assert b"x-api-key: secret\r\n" in get("/", "secret")


def test_ratios_are_of_slices_that_were_measured_together() -> None:
    scenario = scenarios(Stage(key="k", key_ids=["1"]))["list"]
    slices = [(100.0, 50.0, 10.0), (10.0, 5.0, 1.0), (400.0, 200.0, 40.0)]  # the machine was busy meanwhile
    rounds = [
        {
            name: run.Slice(rate=rate, cpu_s=None if name == "usual" else 1 / rate)
            for name, rate in zip(CONTENDERS, each, strict=True)
        }
        for each in slices
    ]
    line = run.summed_up(scenario, rounds)
    assert (line.of_limit, line.of_usual) == (0.5, 5.0)
    assert (line.cpu_of_limit, line.cpu_of_usual) == (0.5, None)
    assert json.loads(json.dumps(line.rates)) == {"limit": 100.0, "ours": 50.0, "usual": 10.0}


def test_the_folder_of_the_stage_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail(*_: object, **__: object) -> None:
        raise EmbeddedFailed("no room")

    monkeypatch.setattr(stage, "Embedded", fail)
    with pytest.raises(EmbeddedFailed), stage.built():
        pass
    assert list(tmp_path.iterdir()) == []

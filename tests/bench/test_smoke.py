"""The bench runs: the three give the same answers, and a table comes out. Nothing here is timed."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import psycopg
import pytest

from bench import doors, load, run, stage
from bench.contenders import CONTENDERS
from bench.scenarios import Stage, get, scenarios, target
from builders.kit.db.embedded.errors import EmbeddedServerError
from builders.kit.process.settings import Settings
from tests.demo.drawn import stocked


@pytest.fixture
async def own(server: str, settings: Settings, tmp_path: Path, drawn: Path) -> AsyncIterator[str]:
    """A database of the bench's own, with the catalog."""
    async with stocked(server, settings, drawn=drawn, data_dir=tmp_path) as conninfo:
        yield conninfo


def measured(
    built: stage.Built, known: Mapping[str, doors.Requests]
) -> tuple[Sequence[run.Line], Sequence[doors.Line]]:
    """A line of each scenario and of each public door, after a look at the answers."""
    with run.serving(built, core=None) as servers:
        lines = [
            run.summed_up(scenario, run.measure(servers, scenario, seconds=0.05))
            for scenario in scenarios(built.stage).values()
        ]
        with pytest.raises(load.LoadFailed, match="404"):
            run.answer(servers[1], get("/v1/nothing"))
        return lines, [doors.measure(each, servers, known[each], 0.05) for each in known]


async def test_the_three_give_the_same_answers_and_are_measured(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "COMPARED", 16)  # of each scenario; whoever measures compares more
    built, known = await doors.prepared(tmp_path, own)

    lines, public = await asyncio.to_thread(measured, built, known)
    with psycopg.connect(own) as conn:
        hits = conn.execute("SELECT DISTINCT kind, machine FROM tracking_hits").fetchall()

    assert [line.scenario for line in lines] == [each.says for each in scenarios(built.stage).values()]
    assert [line.scenario for line in public] == ["open", "click", "beacon"]
    every: list[run.Line | doors.Line] = [*lines, *public]
    for line in every:
        assert line.rates.keys() == CONTENDERS.keys()
        assert min(line.of_limit, line.of_usual, *line.rates.values()) > 0
    assert min(each for line in public for each in line.p99_ms.values()) > 0
    assert set(hits) == {("open", None), ("click", None)}
    for rows in (run.table(lines).splitlines(), doors.table(public).splitlines()):
        assert len({row.count("|") for row in rows}) == 1
    assert len(run.table(lines).splitlines()) == 2 + len(lines)


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
        raise EmbeddedServerError("no room")

    monkeypatch.setattr(stage, "EmbeddedServer", fail)
    with pytest.raises(EmbeddedServerError), stage.built():
        pass
    assert list(tmp_path.iterdir()) == []

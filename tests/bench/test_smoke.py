"""The benchmarks run: the contenders send the same responses, and a table is printed. No test is timed."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import psycopg
import pytest

from bench import fixtures, load, public_endpoints, run
from bench.contenders import CONTENDERS
from bench.scenarios import SampleKeys, get, scenarios, target
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.kit.process.settings import Settings
from tests.demo.make import demo_database


@pytest.fixture
async def own(server: str, settings: Settings, tmp_path: Path, demo_images: Path) -> AsyncIterator[str]:
    """A database with the catalog for this test alone."""
    async with demo_database(server, settings, images=demo_images, data_dir=tmp_path) as conninfo:
        yield conninfo


def measured(
    prepared: fixtures.Fixtures, known: Mapping[str, public_endpoints.Requests]
) -> tuple[Sequence[run.Line], Sequence[public_endpoints.Line]]:
    """Measure each scenario and public endpoint once; return the lines."""
    with run.serving(prepared, core=None) as servers:
        lines = [
            run.summarize(scenario, run.measure(servers, scenario, seconds=0.05, compared=16))
            for scenario in scenarios(prepared.keys).values()
        ]
        with pytest.raises(load.LoadFailed, match="404"):
            run.fetch(servers[1], get("/v1/nothing"))
        return lines, [public_endpoints.measure(each, servers, known[each], 0.05) for each in known]


@pytest.mark.system
async def test_all_contenders_send_the_same_responses_and_are_measured(own: str, tmp_path: Path) -> None:
    prepared, known = await public_endpoints.prepare(tmp_path, own)

    lines, public = await asyncio.to_thread(measured, prepared, known)
    with psycopg.connect(own) as conn:
        recorded = conn.execute("SELECT DISTINCT kind, machine FROM tracking_hits").fetchall()

    assert [line.scenario for line in lines] == [each.description for each in scenarios(prepared.keys).values()]
    assert [line.scenario for line in public] == ["open", "click", "beacon"]
    every: list[run.Line | public_endpoints.Line] = [*lines, *public]
    for line in every:
        assert line.rates.keys() == CONTENDERS.keys()
        assert min(line.bare_asgi_ratio, line.fastapi_orm_ratio, *line.rates.values()) > 0
    assert min(each for line in public for each in line.p99_ms.values()) > 0
    assert set(recorded) == {("open", None), ("click", None)}
    for rows in (run.table(lines).splitlines(), public_endpoints.table(public).splitlines()):
        assert len({row.count("|") for row in rows}) == 1
    assert len(run.table(lines).splitlines()) == 2 + len(lines)


def test_different_responses_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [run.Server(name=name, port=0, pid=0) for name in CONTENDERS]
    [scenario] = [each for name, each in scenarios(SampleKeys(secret="k", ids=["1"])).items() if name == "read"]

    monkeypatch.setattr(run, "fetch", lambda server, _: {"same": True, "other": server.name == "fastapi_orm"})
    with pytest.raises(load.LoadFailed, match=r"/v1/api-keys/1: \w+ and \w+ differ"):
        run.compare(servers, scenario)

    monkeypatch.setattr(run, "fetch", lambda *_: {"same": True})
    run.compare(servers, scenario)


def test_the_target_of_a_request() -> None:
    assert target(get("/v1/catalog/suggest?q=jane%20doe")) == "/v1/catalog/suggest?q=jane%20doe"
    assert b"x-api-key: secret\r\n" in get("/", "secret")


def test_ratios_compare_slices_of_one_round() -> None:
    scenario = scenarios(SampleKeys(secret="k", ids=["1"]))["list"]
    slices = [(100.0, 50.0, 10.0), (10.0, 5.0, 1.0), (400.0, 200.0, 40.0)]  # of a machine under changing load
    rounds = [
        {
            name: run.Slice(rate=rate, cpu_s=None if name == "fastapi_orm" else 1 / rate)
            for name, rate in zip(CONTENDERS, each, strict=True)
        }
        for each in slices
    ]
    line = run.summarize(scenario, rounds)
    assert (line.bare_asgi_ratio, line.fastapi_orm_ratio) == (0.5, 5.0)
    assert (line.bare_asgi_cpu_ratio, line.fastapi_orm_cpu_ratio) == (0.5, None)
    assert json.loads(json.dumps(line.rates)) == {"bare_asgi": 100.0, "service": 50.0, "fastapi_orm": 10.0}


def test_the_temporary_folder_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail(*_: object, **__: object) -> None:
        raise EmbeddedServerError("no space")

    monkeypatch.setattr(fixtures, "EmbeddedServer", fail)
    with pytest.raises(EmbeddedServerError), fixtures.temporary():
        pass
    assert list(tmp_path.iterdir()) == []

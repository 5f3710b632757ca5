"""The bench of the public doors runs: the three say the same, and a table comes out. Nothing here is timed."""

import asyncio
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench import doors, run
from bench.contenders import CONTENDERS
from builders.kit import ids, migrate


async def test_the_three_say_the_same_and_are_measured(server: str, tmp_path: Path) -> None:
    name = f"bench_{ids.new().hex}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    own = make_conninfo(server, dbname=name)
    migrate.migrate(own)
    try:
        built, known = await doors.prepared(tmp_path, own)

        def measured() -> list[doors.Line]:
            with run.serving(built, core=None) as servers:
                return [doors.measure(each, servers, known[each], 0.05) for each in known]

        lines = await asyncio.to_thread(measured)
        with psycopg.connect(own) as conn:
            counts = conn.execute("SELECT kind, machine, count(*) FROM tracking_hits GROUP BY 1, 2").fetchall()
    finally:
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    assert [line.scenario for line in lines] == ["open", "click", "beacon"]
    for line in lines:
        assert line.rates.keys() == CONTENDERS.keys()
        assert min(line.of_limit, line.of_usual, *line.rates.values(), *line.p99_ms.values()) > 0
    assert len({row.count("|") for row in doors.table(lines).splitlines()}) == 1
    assert {(kind, machine) for kind, machine, _ in counts} == {("open", None), ("click", None)}

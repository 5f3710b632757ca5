"""All statements of the service, planned and executed with values on the cluster."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from builders.kit.values import ids
from tests.architecture.source import ROOT, sources
from tests.architecture.statements import EXPLAINED, NAMED, UNNAMED, statements

ACCOUNT = ids.new()
VALUES: Mapping[str, str] = {
    **dict.fromkeys(("text", "varchar", "name", "unknown"), "word"),
    **dict.fromkeys(("int2", "int4", "int8", "xid", "xid8", "oid"), "10"),
    **dict.fromkeys(("numeric", "float4", "float8"), "0.5"),
    **dict.fromkeys(("json", "jsonb"), "[]"),
    "uuid": str(ids.new()),
    "bpchar": "EUR",
    "timestamptz": "2026-11-01 12:00:00+00",
    "date": "2026-11-01",
    "bool": "true",
    "interval": "1 hour",
    "bytea": "\\x00ff",
    "cidr": "10.0.0.0/8",
    "inet": "10.0.0.1",
    "char": "x",
    "regclass": "identity_accounts",
    "tid": "(0,1)",
}
INSERT_ACCOUNT = "INSERT INTO identity_accounts (id, email, name, created_at) VALUES (%s, %s, '', now())"
TASKS = re.compile(r"Task Count: (\d+)")
TYPES = "SELECT oid, typname FROM pg_type"
DATA, CONSTRAINT = "22", "23"  # classes of errors about the values, which PostgreSQL alone has too
TIMESTAMPTZ = 1184


@dataclass(frozen=True, slots=True)
class Plan:
    """What the cluster does with a statement."""

    kind: str  # `local`, `one shard`, `several shards`, `not explained`
    error: str | None  # of the execution


def numbered(text: str) -> tuple[str, list[str]]:
    """Return a statement with numbered parameters, and their names in sequence."""
    names = list(dict.fromkeys(NAMED.findall(text)))
    if names:
        text = NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    else:
        numbers = iter(range(1, 99))
        text = UNNAMED.sub(lambda _: f"${next(numbers)}", text)
    return text.replace("%%", "%"), names


def value_of(kind: str, name: str) -> str:
    """Return a value of a type for a parameter."""
    if kind.startswith("_"):
        return '{"' + value_of(kind[1:], name).replace("\\", "\\\\") + '"}'
    if kind == "uuid" and name.startswith("account"):
        return str(ACCOUNT)
    if kind == "uuid" and name == "realm":
        return "00000000-0000-0000-0000-000000000000"
    return VALUES.get(kind, "1")


class Planner:
    """A session that plans and executes statements, and rolls each back."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self.conn = psycopg.connect(conninfo, autocommit=True)
        self._types: dict[int, str] = dict(self.conn.execute(TYPES).fetchall())

    @property
    def _pg(self) -> PGconn:
        return self.conn.pgconn

    def _run(self, text: str, values: Sequence[bytes], types: Sequence[int]) -> PGresult:
        self._pg.exec_(b"BEGIN")
        result = self._pg.exec_params(text.encode(), values, types)
        if self._pg.status != 0:  # the server process has ended
            self.conn.close()
            self.conn = psycopg.connect(self._conninfo, autocommit=True)
        else:
            self._pg.exec_(b"ROLLBACK")
        return result

    def plan(self, statement: str) -> Plan:
        """Return what the cluster does with it."""
        text, names = numbered(statement)
        prepared = self._pg.prepare(b"", text.encode(), [TIMESTAMPTZ if each == "now" else 0 for each in names])
        if prepared.error_message:
            return Plan("not explained", prepared.error_message.decode())
        described = self._pg.describe_prepared(b"")
        types = [described.param_type(at) for at in range(described.nparams)]
        names = names or ["" for _ in types]
        values = [value_of(self._types[kind], name).encode() for kind, name in zip(types, names, strict=True)]
        explained = self._run(f"EXPLAIN (COSTS off) {text}", values, types)
        lines = [(explained.get_value(row, 0) or b"").decode() for row in range(explained.ntuples)]
        executed = self._run(text, values, types)
        return Plan(_kind(explained, lines), _error(executed))


def _kind(explained: PGresult, lines: Sequence[str]) -> str:
    if explained.status != ExecStatus.TUPLES_OK:
        return "not explained"
    if not any("Custom Scan (Citus" in line for line in lines):
        return "local"
    tasks = [int(found[1]) for line in lines if (found := TASKS.search(line))]
    return "one shard" if max(tasks, default=1) <= 1 else "several shards"


def _error(executed: PGresult) -> str | None:
    if executed.status in {ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK}:
        return None
    state = (executed.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    message = executed.error_message.decode().splitlines()[0]
    is_of_values = state[:2] in {DATA, CONSTRAINT} or "violates" in message  # Citus has no class for rows of a CTE
    return None if is_of_values else f"{state} {message}"


@pytest.fixture(scope="module")
def plans(conninfo: str) -> Mapping[str, Plan]:
    """Return what the cluster does with each statement, by its place."""
    planner = Planner(conninfo)
    planner.conn.execute(INSERT_ACCOUNT, [ACCOUNT, f"{ACCOUNT}@example.net"])
    found: dict[str, Plan] = {}
    for file in sources(ROOT / "src", "builders"):
        for each in statements(file):
            place = each.place.removeprefix("builders/")
            if EXPLAINED.match(each.text) and not LEFT_OUT.match(place):
                plan = planner.plan(each.text)
                if place not in found or plan.error is not None or plan.kind == "several shards":
                    found[place] = plan
    planner.conn.close()
    return found


# Those whose values must be names of parameters, tables or roles, that are completed before they are sent, or that
# restore the embedded database, which is never distributed.
LEFT_OUT = re.compile(
    r"kit/db/(distribution|partitions|roles|sessions)\.py:|erasure/store\.py:delete_rows|exports/store\.py:read_rows"
    r"|forwarding/store\.py:(may_read|list_further_tables)|backup/"
)


def test_the_cluster_executes_each_statement(plans: Mapping[str, Plan]) -> None:
    refused = [f"{place}: {plan.error}" for place, plan in plans.items() if plan.error is not None]
    assert not refused, "\n".join(refused)
    assert len(plans) > 700

"""Measure every read of a large portfolio: each list, order, filter and report of the OpenAPI document.

A line is a path with one parameter. Its times are processor time, which other programs hardly change: of the
service with PostgreSQL, and of PostgreSQL alone. They are the best of several requests.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import psycopg

from bench import load, run

RESPONSE_MS, DATABASE_MS = 150, 100  # bounds
REPEATED = 5
# Values of parameters that are neither a choice nor a flag. A new parameter needs one.
SAMPLES: Mapping[str, Sequence[str]] = {
    "as_of": ["2026-01-01"],
    "base_currency": ["EUR"],
    "commission_rate": ["0.1"],
    "currency": ["EUR", "SEK"],
    "days": ["30"],
    "domain": [""],  # the one of the path
    "domain_id": [""],
    "expiring_within_days": ["30", "3650"],
    "folder": ["Ports", "none"],
    "from": ["2024-01-01"],
    "group_by": ["day"],
    "limit": ["500"],
    "months": ["120"],
    "name": ["sheet"],
    "provider": ["porkbun"],
    "q": ["d123", "büro", "none such"],
    "registrar": ["Gandi"],
    "tag": ["geo", "none"],
    "tld": ["co.uk"],
    "to": ["2024-12-31"],
    "within_days": ["365"],
    "year": ["2024"],
    **{f"{bound}_{name}": ["10"] for bound in ("min", "max") for name in ("net", "cost", "income")},
    **{f"{bound}_{name}": ["0.5"] for bound in ("min", "max") for name in ("roi", "renewal_price_base")},
}
# Reads of other sizes: files of the whole portfolio, links without a credential, ids of what the portfolio lacks.
OTHERS = re.compile(r"export|\.ics$|\.csv$|/join$|\{(?!domain_id)|/transfer$|/templates$|/webhooks/")
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'builders' AND datname = current_database()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The times of a read, in milliseconds."""

    path: str
    service: float
    database: float

    @property
    def is_slow(self) -> bool:
        """Return whether a bound is exceeded."""
        return self.service + self.database > RESPONSE_MS or self.database > DATABASE_MS

    def line(self) -> str:
        """Return the line of the table."""
        slow = " **slow**" if self.is_slow else ""
        whole = self.service + self.database
        return f"| {self.path} | {whole:.0f} ms, of which PostgreSQL {self.database:.0f} ms{slow} |"


def measure(server: run.Server, conninfo: str, key: str, *, domain: str) -> Iterator[Read]:
    """Yield the times of each read."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for path in list_paths(json.loads(_get(server.port, key, "/openapi.json")), domain=domain):
            found = [_read(server, conn, key, path) for _ in range(REPEATED)]
            yield Read(path=path, service=min(each for each, _ in found), database=min(each for _, each in found))


def list_paths(document: Mapping[str, Any], *, domain: str) -> Iterator[str]:
    """Yield the paths of the reads of a portfolio, each alone and with one of its parameters."""
    for template, operations in document["paths"].items():
        if not template.startswith("/v1/portfolio") or "get" not in operations or OTHERS.search(template):
            continue
        path = template.replace("{domain_id}", domain)
        yield path
        parameters = [_resolved(document, each) for each in operations["get"].get("parameters", ())]
        queries = [
            (each["name"], value or domain)
            for each in parameters
            if each["in"] == "query" and each["name"] != "cursor"
            for value in _values(document, each)
        ]
        for query in queries:
            yield f"{path}?{urlencode([query])}"
        if any(name == "include_total" for name, _ in queries):
            for query in queries:
                if query[0] not in {"limit", "include_total"}:
                    yield f"{path}?{urlencode([query, ('include_total', 'true')])}"
        if any(name == "min_roi" for name, _ in queries):
            for sort in ("roi", "-net", "renewal_price_base"):
                yield f"{path}?{urlencode([('sort', sort), ('max_roi', '0.5'), ('limit', '500')])}"


def _values(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Sequence[str]:
    schemas = [_resolved(document, each) for each in parameter["schema"].get("anyOf", [parameter["schema"]])]
    for schema in schemas:
        if "enum" in schema:
            return [str(each) for each in schema["enum"]]
        if schema.get("type") == "boolean":
            return ["true"]
    return SAMPLES[parameter["name"]]


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        found: Any = document
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        schema = found
    return schema


def _read(server: run.Server, conn: psycopg.Connection[Any], key: str, path: str) -> tuple[float, float]:
    before = _times(server, conn)
    _get(server.port, key, path)
    service, database = (now - then for now, then in zip(_times(server, conn), before, strict=True))
    return service * 1000, database * 1000


def _times(server: run.Server, conn: psycopg.Connection[Any]) -> tuple[float, float]:
    """Return the processor time of the service, and of its connections in PostgreSQL."""
    backends = conn.execute(BACKENDS).fetchall()
    used = (run.Server(name="PostgreSQL", port=0, pid=pid).cpu_s() for (pid,) in backends)
    return server.cpu_s() or 0, sum(each or 0 for each in used)


def _get(port: int, key: str, path: str) -> bytes:
    connection = HTTPConnection(load.HOST, port, timeout=60)
    connection.request("GET", path, headers={"X-API-Key": key})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise load.LoadFailed(f"{path}: {answer.status} {body[:300].decode()}")
    return body

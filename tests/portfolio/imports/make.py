"""Imports of the tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.cast import Client

IMPORT = "/v1/portfolio/import"
IMPORTS = "/v1/portfolio/imports"
EXPORT = "/v1/portfolio/export.csv"
JSON_EXPORT = "/v1/portfolio/export"
Json = dict[str, Any]


async def load(owner: Client, source: str | bytes | Sequence[Mapping[str, Any]], **more: Any) -> Json:
    """The reply to an import: of a CSV text, of the bytes of a file, or of rows."""
    headers = more.pop("headers", None)
    if isinstance(source, bytes):
        typed = {"Content-Type": "text/csv", **(headers or {})}
        answer = await owner.post(IMPORT, content=source, params=more, headers=typed)
    else:
        body = {"csv": source} if isinstance(source, str) else {"rows": source}
        answer = await owner.post(IMPORT, json={**body, **more}, headers=headers)
    return ok(answer)


async def undo(owner: Client, imported: Json, **query: Any) -> Json:
    return ok(await owner.post(f"{IMPORTS}/{imported['import_id']}/undo", params=query))


def ok(answer: httpx.Response) -> Json:
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def counts(imported: Json) -> dict[str, int]:
    """The outcomes that occur, with their numbers."""
    return {name: count for name, count in imported["summary"].items() if count and name != "total"}


async def valid_rows(owner: Client) -> list[Json]:
    """The rows of the export, without void entries."""
    rows: list[Json] = ok(await owner.get(JSON_EXPORT))["rows"]
    return [{**row, "entries": [each for each in row["entries"] if "voided_at" not in each]} for row in rows]

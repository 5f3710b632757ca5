"""Files as vendors and people write them are read as they are meant; `cases.py` says how a case is written."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cast import Person
from tests.corpus.cases import FOLDER, Case, Json, Problem, filled, list_paths, read_case
from tests.portfolio.domains.make import add

REGISTRARS = "/v1/portfolio/registrars"
EXPORT = "/v1/portfolio/export"
LEAST = 60  # files
# Of a domain that has nothing but its name, of an entry of an import, and of a charge.
DEFAULTS: Mapping[str, Any] = {"status": "owned", "ownership": "owned", "pinned": False, "source": "import"}
CHARGE = ("charged_on", "order_id", "domain", "kind", "years", "total", "tax", "fees", "parent_order_id")
HELD = (
    *("domain", "expires_at", "registered_at", "auto_renew", "locked", "privacy", "nameservers", "renewal_price"),
    "provider",
)


async def _domains(person: Person) -> Sequence[Json]:
    rows: list[Json] = (await person.get(EXPORT)).json()["rows"]
    return [{**each, "unicode": None if each["unicode"] == each["domain"] else each["unicode"]} for each in rows]


async def _charges(person: Person) -> Sequence[Json]:
    return await _items(person, f"{REGISTRARS}/billing/charges", CHARGE)


async def _held(person: Person) -> Sequence[Json]:
    return await _items(person, f"{REGISTRARS}/inventory", HELD)


async def _parking(person: Person) -> Sequence[Json]:
    return [
        {"domain": each["domain"], **revenue} for each in await _domains(person) for revenue in each["parking"]
    ]


async def _items(person: Person, path: str, members: Sequence[str]) -> Sequence[Json]:
    items = (await person.get(path)).json()["items"]
    return [{name: each[name] for name in members} for each in items]


# By folder: the operation that reads the tables, and what it stored.
KINDS: Mapping[str, tuple[str, Callable[[Person], Awaitable[Sequence[Json]]]]] = {
    "domains": ("/v1/portfolio/import", _domains),
    "inventory": (f"{REGISTRARS}/inventory/import", _held),
    "charges": (f"{REGISTRARS}/billing/import", _charges),
    "parking": ("/v1/portfolio/parking/revenue", _parking),
}


@pytest.mark.parametrize(
    "path", [pytest.param(each, id=str(each.relative_to(FOLDER).with_suffix(""))) for each in list_paths()]
)
async def test_a_file_is_read_as_it_is_meant(alice: Person, path: Path) -> None:
    case, kind = read_case(path), path.parent.name
    operation, stored = KINDS[kind]
    if kind == "parking":
        for name in dict.fromkeys(each["domain"] for each in case.rows):
            await add(alice, name)
    answer = await alice.post(
        operation, content=case.content(), params=case.query, headers={"Content-Type": "text/csv"}
    )
    assert _told(answer, case) == {
        "refused": case.refused,
        "detected": case.detected,
        "unmapped": case.unmapped,
        "warnings": case.warnings,
        "problems": case.problems,
    }
    assert _sorted(filled(list(await stored(alice)), DEFAULTS)) == _sorted(case.rows)


def _told(answer: httpx.Response, case: Case) -> Json:
    """What the answer says of the file, of `detected` the members of the case."""
    body = answer.json()
    if answer.is_error:
        nothing: Json = {"detected": {}, "unmapped": [], "warnings": [], "problems": []}
        return {"refused": body["detail"][0]["type"], **nothing}
    return {
        "refused": None,
        "detected": {name: body["detected"][name] for name in case.detected},
        "unmapped": [each["column"] for each in body["detected"]["unmapped_columns"]],
        "warnings": [each["code"] for each in body["detected"]["warnings"]],
        "problems": [_problem(each) for each in body["results"] if each["errors"] or each["warnings"]],
    }


def _problem(result: Json) -> Problem:
    return Problem(
        line=result["line"],
        errors=[each["code"] for each in result["errors"]],
        warnings=[each["code"] for each in result["warnings"]],
        did_you_mean=next((each["did_you_mean"] for each in result["errors"]), None),
    )


def _sorted(rows: Sequence[Json]) -> Sequence[Json]:
    return sorted(rows, key=lambda row: (row.get("domain") or "", str(sorted(row.items()))))


def test_the_corpus_is_whole() -> None:
    cases = {path: read_case(path) for path in list_paths()}
    assert len(cases) >= LEAST
    assert {path.parent.name for path in cases} == KINDS.keys()
    for path, case in cases.items():
        assert case.title, path
        assert case.source, path
        assert (case.refused is None) == ("format" in case.detected), path
        assert case.rows or case.refused or case.problems, path
    assert len({case.text for case in cases.values()}) == len(cases)

"""The names in the calls of queries are the parameters of their statements."""

import pytest

from tests.architecture.calls import MAY_SPREAD, unknown_constants, wrong_call
from tests.architecture.others import Others
from tests.architecture.source import Source, breaches, source

IMPORT = "from builders.projects import store\n"


def test_every_call_has_the_parameters_of_its_statement(codebase: list[Source], others: Others) -> None:
    errors = [*breaches(wrong_call, codebase), *others.found[wrong_call]]
    assert not errors, "\n".join(errors)


def test_every_constant_is_a_parameter_of_its_statement(codebase: list[Source]) -> None:
    errors = breaches(unknown_constants, codebase)
    assert not errors, "\n".join(errors)


def test_every_allowed_call_exists(codebase: list[Source]) -> None:
    errors = {each.partition(": ")[0] for file in codebase for each in wrong_call(file, {})}
    assert sorted(MAY_SPREAD.keys() - errors) == []


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("store.find(conn, account_id=a)", "store.find: without project_id"),
        ("store.find(conn, account_id=a, project_id=p, id=p)", "store.find: the statement has no id"),
        ("store.find(conn, **row)", "passes **"),
        ("(store.find if one else store.clear)(conn, account_id=a)", "store.find: without project_id"),
        ("partial(store.find, conn)", "store.find is passed as a value"),
    ],
)
def test_a_wrong_call_is_reported(call: str, error: str) -> None:
    (found,) = wrong_call(source("builders/projects/sample.py", IMPORT + call))
    assert error in found


@pytest.mark.parametrize(
    "call",
    [
        "store.find(conn, account_id=a, project_id=p)",
        "explain(store.find.text)",
        "store.insert(conn, anything=1)",  # a function, which mypy checks
    ],
)
def test_a_right_call_passes(call: str) -> None:
    assert list(wrong_call(source("builders/projects/sample.py", IMPORT + call))) == []

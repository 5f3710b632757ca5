"""Names in rows, queued jobs and clients are constants, and none is removed once it is released."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders import worker
from builders.app import create_app
from builders.identity import scopes
from builders.identity.records import AuditAction
from builders.kit import errors
from builders.kit.events import dispatcher, outbox
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.mail.templates import EmailTemplate
from tests.architecture.source import Source, breaches, source

FILE = Path(__file__).with_name("stored_names.toml")
STORED: Mapping[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))
# Called with a stored name.
DECLARING = {
    "dispatcher.subscribe",
    "dispatcher.subscribe_batches",
    "queue.app.task",
    "queue.periodic",
    "periodic",
}
JOBS = worker.JOBS  # importing them declares jobs and subscribers


def ours(module: str) -> bool:
    """Return whether it is a module of the service."""
    return module.startswith("builders.")


def declared() -> Mapping[str, object]:
    """Return what the code declares, in the form of the file."""
    create_app(Settings())
    return {
        "jobs": sorted(name for name, task in queue.tasks().items() if ours(task.func.__module__)),
        "subscribers": sorted(dispatcher.subscribers()),
        "events": sorted(each.name for each in outbox.list_events() if ours(each.data.__module__)),
        "email_templates": sorted({each.name for each in EmailTemplate.__subclasses__() if ours(each.__module__)}),
        "audit_actions": sorted(AuditAction),
        "error_codes": sorted({each.code for each in errors.list_problem_types() if ours(each.__module__)}),
        "scopes": sorted(scopes.DESCRIPTIONS),
    }


@pytest.mark.parametrize("kind", sorted(STORED))
def test_every_stored_name_exists_and_each_new_one_is_listed(kind: str) -> None:
    stored, present = set(STORED[kind]), set(declared()[kind])  # type: ignore[call-overload] # a table of TOML
    assert sorted(stored - present) == [], f"rows, jobs and clients hold these {kind}: keep them"
    assert sorted(present - stored) == [], f"add these {kind} to tests/architecture/{FILE.name}"
    assert STORED[kind] == declared()[kind]


def test_the_file_contains_every_kind() -> None:
    assert STORED.keys() == declared().keys()


def derived(file: Source) -> Iterator[str]:
    """Yield stored names that are not constants."""
    for node in file.nodes:
        if isinstance(node, ast.Call) and _is_declaring(node):
            name = next((each.value for each in node.keywords if each.arg == "name"), None)
            if not _is_constant(name):
                yield f"{file.at(node)}: {ast.unparse(node.func)}(name=…) is stored: write a constant"
        if isinstance(node, ast.ClassDef):
            yield from _derived_in_class(file, node)


def _is_declaring(call: ast.Call) -> bool:
    """Return whether the call has a stored name: `declare` has the example of an event."""
    is_event = any(each.arg == "example" for each in call.keywords)
    return ast.unparse(call.func) in ({*DECLARING, "declare"} if is_event else DECLARING)


def _derived_in_class(file: Source, node: ast.ClassDef) -> Iterator[str]:
    if not {"Problem", "EmailTemplate", "StrEnum"} & {ast.unparse(each) for each in node.bases}:
        return
    for keyword in node.keywords:
        if keyword.arg == "name" and not _is_constant(keyword.value):
            yield f"{file.at(node)}: {node.name} is stored: write a constant"
    for each in node.body:
        if isinstance(each, ast.Assign) and not all(map(_is_constant, _values(each.value))):
            yield f"{file.at(each)}: {node.name} is stored: write a constant"


def _values(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _is_constant(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
    return False


def test_stored_names_are_constants(codebase: list[Source]) -> None:
    code = [each for each in codebase if each.path.parts[0] == "builders"]
    assert len(code) > 100
    assert breaches(derived, code) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param(
            '@dispatcher.subscribe("invoice.paid", name="invoices.mail_paid")\nasync def f(): ...',
            0,
            id="a subscriber with a literal",
        ),
        pytest.param(
            "@queue.app.task(name=login.MAIL_CODE)\nasync def f(): ...", 0, id="a job with a constant of a module"
        ),
        pytest.param(
            "@dispatcher.subscribe(event, name=RECORD_STEP)\nasync def f(): ...",
            0,
            id="a subscriber with a constant",
        ),
        pytest.param(
            '@dispatcher.subscribe("invoice.paid", name=f.__qualname__)\nasync def f(): ...',
            1,
            id="a subscriber named after its function",
        ),
        pytest.param(
            '@dispatcher.subscribe("invoice.paid")\nasync def f(): ...', 1, id="a subscriber without a name"
        ),
        pytest.param(
            'dispatcher.subscribe_batches(name=f"{__name__}.f")(f)',
            1,
            id="a batch subscriber named after its module",
        ),
        pytest.param(
            '@queue.app.task(name="a.b", pass_context=True)\nasync def f(): ...', 0, id="a job with a literal"
        ),
        pytest.param("@queue.app.task(pass_context=True)\nasync def f(): ...", 1, id="a job without a name"),
        pytest.param('PAID = declare(name="invoice.paid", example=PAID)', 0, id="an event with a literal"),
        pytest.param('PAID = declare(name="invoice." + verb, example=PAID)', 1, id="an event with a sum"),
        pytest.param('class Gone(Problem):\n    status, code = 410, "gone"', 0, id="an error code with a literal"),
        pytest.param(
            "class Gone(Problem):\n    status, code = 410, __name__", 1, id="an error code named after its module"
        ),
        pytest.param('class Paid(EmailTemplate, name="paid"): ...', 0, id="an email template with a literal"),
        pytest.param("class Paid(EmailTemplate, name=__name__): ...", 1, id="a template named after its module"),
        pytest.param('class Action(StrEnum):\n    PAID = "paid"', 0, id="a member with a literal"),
        pytest.param("class Action(StrEnum):\n    PAID = auto()", 1, id="a member with auto"),
    ],
)
def test_a_derived_name_is_found(text: str, count: int) -> None:
    assert len(list(derived(source("builders/things/jobs.py", text)))) == count

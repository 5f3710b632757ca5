# ruff: noqa: INP001 - a module of a program; not a package
"""The list of all operations with the pages of the console on which a person does what each of them does.

Pages and forms say which operations they call. docs/console.toml has the rest: what a page does besides, and why
an operation has no page.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders.console import views
from builders.console.actions import ACTIONS
from builders.console.pages import PAGES, Page

_TEMPLATES = Path(views.__file__).parent / "templates"
_FORM = re.compile(r"""(?:m\.form\("|link\(["']do/)([\w-]+)["']""")
_PARAMETER = re.compile(r"\{[^}]+\}")
CUSTOMER, DECIDER, DOMAINER = PEOPLE = ("customer", "decider", "domainer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An operation, and where a person does it."""

    operation: str  # method and path
    people: Sequence[str]
    pages: Sequence[str]  # paths below the first page of the console
    reason: str | None  # why it has no page


def list_jobs(document: Mapping[str, Any]) -> Sequence[Job]:
    """Return a job for each operation of an OpenAPI document."""
    operations = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]
    said, by_operation = read_file(), _pages_by_operation(operations)
    jobs = []
    for operation in operations:
        pages = by_operation.get(operation, [])
        pages += [page for place in said["also"].get(operation, ()) for page in pages_of(place)]
        people = {each for page in pages for each in people_of(page)}
        people = people or {DOMAINER if "/portfolio" in operation else CUSTOMER}
        jobs.append(
            Job(
                operation=operation,
                people=[each for each in PEOPLE if each in people],
                pages=list(dict.fromkeys(page.path for page in pages)),
                reason=said["reasons"].get(operation),
            )
        )
    return jobs


def read_file() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of docs/console.toml."""
    return tomllib.loads((Path(__file__).parent / "console.toml").read_text(encoding="utf-8"))


def people_of(page: Page) -> Sequence[str]:
    """Return who opens a page."""
    if page.path.startswith("portfolio"):
        return [DOMAINER]
    return [CUSTOMER, DECIDER] if page.for_teams else [CUSTOMER]


def pages_of(place: str) -> Sequence[Page]:
    """Return the pages of a place: of `page names` that one, of `form name-change` those that show the form."""
    kind, _, name = place.partition(" ")
    if kind == "page":
        return [each for each in PAGES if each.path == name]
    texts = {each.relative_to(_TEMPLATES).as_posix(): each.read_text() for each in _TEMPLATES.rglob("*.html")}
    templates = [each for each, text in texts.items() if name in _FORM.findall(text)]
    return list(_showing(templates, texts, set())) if name in ACTIONS else []


def _pages_by_operation(operations: Sequence[str]) -> dict[str, list[Page]]:
    calls: dict[str, list[Page]] = {}
    for page in PAGES:
        for target in page.calls.values():
            calls.setdefault(f"GET {target.partition('?')[0]}", []).append(page)
    for name, action in ACTIONS.items():
        calls.setdefault(f"{action.method} {action.path}", []).extend(pages_of(f"form {name}"))
    names = {_PARAMETER.sub("{}", each): each for each in operations}
    found: dict[str, list[Page]] = {}
    for call, pages in calls.items():
        # The path of a form can have a word in the place of a parameter that is no identifier.
        operation = names.get(_PARAMETER.sub("{}", call)) or next(
            each for each in operations if re.fullmatch(_PARAMETER.sub("[^/]+", each), call)
        )
        found.setdefault(operation, []).extend(pages)
    return found


def _showing(templates: Sequence[str], texts: Mapping[str, str], seen: set[str]) -> Iterator[Page]:
    """Yield the pages that show templates: as their own, as a part, or after a form of theirs."""
    for template in templates:
        if template in seen:
            continue
        seen.add(template)
        yield from (each for each in PAGES if each.template == template)
        before = {name for name, action in ACTIONS.items() if action.template == template}
        users = [
            each for each, text in texts.items() if f'"{template}"' in text or before & set(_FORM.findall(text))
        ]
        yield from _showing(users, texts, seen)

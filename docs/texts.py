# ruff: noqa: INP001 - a hook of mkdocs; not a package
"""Adds to the site its pages as Markdown, and llms.txt and llms-full.txt (https://llmstxt.org), made from them."""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig

ADDRESS = "/guide"
SUMMARY = (
    "Builders is an automation API: programs claim mailbox and alias names on a catalog of domains through a "
    "sandbox (manifest, plan, promotion), run a portfolio of domains, and receive signed webhooks."
)
# What a program needs before it reads a page.
CALLS = """A program sends its key in the header `X-API-Key`. A test key (`svc_test_…`) works on a sandbox, where
nothing is charged or sent; a live key (`svc_live_…`) has real effects. A person creates keys at `/console/keys`,
or lets a program ask for them: `POST /v1/auth/device/authorize`. To get names, send a manifest to
`POST /v1/sandbox/plan`, show a person the plan and its price, and send its `digest` to `POST /v1/sandbox/promote`.
A refusal says in `next_action` what to do. `GET /openapi.json?tag=sandbox` is the part of the OpenAPI document
about plans; other tags are `catalog`, `aliases`, `webhooks`, `invoices` and `portfolio`.
An agent that speaks the Model Context Protocol connects to `/mcp` with the same header and gets tools."""
# The folders of the documentation in reading order; `Optional` may be left out by a reader with little room.
SECTIONS = {
    "Start": ("README.md", "docs/index.md"),
    "Tutorials": ("docs/tutorial/",),
    "How-to guides": ("docs/how-to/",),
    "Clients and examples": ("clients/", "examples/"),
    "Reference": ("docs/reference/",),
    "Explanation": ("docs/explanation/",),
    "Optional": ("SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/decisions/"),
}
NOT_WHOLE = (
    "docs/decisions/",
    "docs/reference/schema.md",
    "CHANGELOG.md",
)  # of llms-full.txt: for those who change the code
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# Paragraphs with text: no heading, table, list, picture, comment or code.
_PARAGRAPH = re.compile(r"(?:\A|\n\n)(?!Before you begin|```|\d+\. |[#<|!-])(\S(?:.(?!\n\n))*.)", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Page(NamedTuple):
    """A page of the documentation."""

    path: str
    text: str

    @property
    def title(self) -> str:
        """Return its heading."""
        found = _TITLE.search(self.text)
        return found[1] if found else self.path

    @property
    def line(self) -> str:
        """Return its entry of llms.txt."""
        found = _PARAGRAPH.search(self.text)
        said = " ".join(_LINK.sub(r"\1", found[1] if found else "").split()).partition(". ")[0].rstrip(".:")
        return f"- [{self.title}]({ADDRESS}/{self.path})" + (f": {said}." if said else "")


def on_post_build(config: MkDocsConfig) -> None:
    """Write the files into the built site."""
    source, site = Path(config.docs_dir), Path(config.site_dir)
    for unused in site.rglob("*.map"):  # for who changes the theme
        unused.unlink()
    pages = list_pages(source)
    for each in pages:
        (site / each.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / each.path, site / each.path)
    (site / "llms.txt").write_text(write_index(pages), encoding="utf-8")
    (site / "llms-full.txt").write_text(write_whole(pages), encoding="utf-8")


def list_pages(source: Path) -> Sequence[Page]:
    """Return the pages in the order of the sections."""
    return [
        Page(path, (source / path).read_text(encoding="utf-8"))
        for places in SECTIONS.values()
        for place in places
        for path in _paths(source, place)
    ]


def _paths(source: Path, place: str) -> Iterator[str]:
    if place.endswith("/"):
        yield from sorted(str(each.relative_to(source)) for each in (source / place).rglob("*.md"))
    else:
        yield place


def write_index(pages: Sequence[Page]) -> str:
    """Return llms.txt."""
    whole = "[llms-full.txt](/llms-full.txt) has all pages, [openapi.json](/openapi.json) the OpenAPI document."
    parts = ["# Builders", f"> {SUMMARY}", CALLS, whole]
    for title, places in SECTIONS.items():
        lines = [each.line for each in pages if each.path.startswith(places)]
        parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def write_whole(pages: Sequence[Page]) -> str:
    """Return llms-full.txt: the pages one after the other, each with its address."""
    parts = [
        f"Source: {ADDRESS}/{each.path}\n\n{each.text.strip()}"
        for each in pages
        if not each.path.startswith(NOT_WHOLE)
    ]
    return "\n\n---\n\n".join([f"# Builders\n\n> {SUMMARY}", *parts]) + "\n"

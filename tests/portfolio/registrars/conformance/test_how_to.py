"""The adapter of the how-to page passes the suite that the page says it passes."""

import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders.demo.registrars.fakes import FAKES
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.conformance import test_conformance
from tests.portfolio.registrars.conformance.conftest import Connect

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "add-a-registrar-adapter.md"
PROVIDER = "harbour"
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(code: str, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the code as a module."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(code, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - of a page of this repository
    return module


def arguments(test: Any) -> Iterator[dict[str, Any]]:
    """Yield the further arguments of a test of the suite."""
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize" and mark.args[0] != "provider"]
    for values in product(*(mark.args[1] for mark in marks)):
        yield dict(zip((mark.args[0] for mark in marks), values, strict=True))


async def test_the_adapter_of_the_page_passes_the_suite(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, fake = _CODE.findall(PAGE.read_text(encoding="utf-8"))
    monkeypatch.setitem(ADAPTERS, PROVIDER, run(adapter, "harbour_adapter", monkeypatch).Harbour)
    monkeypatch.setitem(FAKES, PROVIDER, run(fake, "harbour_fake", monkeypatch).FakeHarbour)
    passed, skipped = set[str](), set[str]()
    for name, test in vars(test_conformance).items():
        if not name.startswith("test_") or "connect" not in test.__annotations__:
            continue
        for values in arguments(test):
            try:
                await test(connect=connect, provider=PROVIDER, **values)
                passed.add(name)
            except pytest.skip.Exception:
                skipped.add(name)
    assert len(passed) == 14
    assert skipped == {"test_maps_a_lasting_fault"}

"""The adapter of the how-to page is found by its place, and passes the suite that the page says it passes."""

import inspect
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeRegistrar
from builders.kit.process.discovery import load_classes
from builders.portfolio.registrars import adapters
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.conformance import suite
from tests.portfolio.registrars.conformance.conftest import Connect
from tests.registrars import apis
from tests.registrars.fakes import FAKES

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "add-a-registrar-adapter.md"
PROVIDER = "harbour"
_CODE = re.compile(r"^```(?:python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[suite.RegistrarSuite]:
    """The suite of the page, with its files at their places."""
    adapter, fake, recorded, test = _CODE.findall(PAGE.read_text(encoding="utf-8"))
    for package, code in ((adapters, adapter), (apis, fake)):
        place = tmp_path / package.__name__
        place.mkdir()
        (place / f"{PROVIDER}.py").write_text(code)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(place)])
    (tmp_path / f"{PROVIDER}.toml").write_text(recorded)
    monkeypatch.setitem(ADAPTERS, PROVIDER, load_classes(adapters, Adapter)[PROVIDER])
    monkeypatch.setitem(FAKES, PROVIDER, load_classes(apis, FakeRegistrar)[PROVIDER])  # type: ignore[type-abstract] # as in fakes.py
    module = ModuleType("tests.portfolio.registrars.conformance.test_harbour")
    exec(compile(test, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - of a page of this repository
    found = module.__dict__["TestHarbour"]
    found.folder = tmp_path
    yield found()
    for package in (adapters, apis):
        del sys.modules[f"{package.__name__}.{PROVIDER}"]


def arguments(test: Any) -> Iterator[dict[str, Any]]:
    """Yield the further arguments of a test of the suite."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    for values in product(*(mark.args[1] for mark in marks)):
        yield dict(zip((mark.args[0] for mark in marks), values, strict=True))


async def test_the_adapter_of_the_page_passes_the_suite(connect: Connect, harbour: suite.RegistrarSuite) -> None:
    passed, skipped = set[str](), set[str]()
    for name, test in inspect.getmembers(harbour, inspect.ismethod):
        fixtures = {"connect": connect} if "connect" in inspect.signature(test).parameters else {}
        for values in arguments(test):
            try:
                done = test(**fixtures, **values)
                await done if inspect.isawaitable(done) else None
                passed.add(name)
            except pytest.skip.Exception:
                skipped.add(name)
    assert len(passed) == 24
    assert skipped == {"test_maps_a_lasting_fault"}

"""Classes are found by their place: one for each module of a package."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from builders.kit.process.discovery import load_classes


class Shape:
    pass


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> ModuleType:
    """A package with these modules."""
    made = ModuleType("shapes")
    made.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "shapes", made)
    for name, code in modules.items():
        monkeypatch.delitem(sys.modules, f"shapes.{name}", raising=False)
        (folder / f"{name}.py").write_text(f"from {__name__} import Shape\n{code}\n")
    return made


def test_each_module_gives_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {
        "square": "class Square(Shape): pass",
        "circle": "class _Arc(Shape): pass\nclass Circle(Shape): pass",
    }
    found = load_classes(package(tmp_path, monkeypatch, **modules), Shape)
    assert {name: each.__name__ for name, each in found.items()} == {"circle": "Circle", "square": "Square"}


@pytest.mark.parametrize("code", ["", "class A(Shape): pass\nclass B(Shape): pass"])
def test_a_module_with_another_number_of_classes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    with pytest.raises(TypeError, match="not one"):
        load_classes(package(tmp_path, monkeypatch, odd=code), Shape)

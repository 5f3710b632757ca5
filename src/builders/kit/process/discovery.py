"""Modules and classes that are found by their place."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def load_modules(package: ModuleType, name: str) -> Mapping[str, ModuleType]:
    """Import the modules of this name in the packages of a package and in theirs; return them by package."""
    root = Path(*package.__path__)
    files = [*root.glob(f"*/{name}.py"), *root.glob(f"*/*/{name}.py")]
    places = sorted(".".join(each.parent.relative_to(root).parts) for each in files)
    return {each: import_module(f"{package.__name__}.{each}.{name}") for each in places}


def load_classes(package: ModuleType, kind: type[T]) -> Mapping[str, type[T]]:
    """Import the modules of a package, and return the one public class of this kind that each defines, by module.

    Raise TypeError for a module with none or with several.
    """
    classes_by_module = dict[str, type[T]]()
    for submodule in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        module = import_module(f"{package.__name__}.{submodule.name}")
        classes = [
            member
            for name, member in vars(module).items()
            if not name.startswith("_") and isinstance(member, type) and issubclass(member, kind)
            if member.__module__ == module.__name__
        ]
        if len(classes) != 1:
            raise TypeError(f"{module.__name__} defines {len(classes)} classes of {kind.__name__}, not one")
        classes_by_module[submodule.name] = classes[0]
    return classes_by_module

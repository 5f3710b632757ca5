"""What other rooms see of a room, and how its door is shaped."""

import ast
from collections.abc import Iterable, Iterator

from tests.architecture.source import Source

# On the top floor or in the cellar: these are no rooms, and who imports whom is the floors' business.
OPEN = {"app", "worker", "cli", "demo", "kit"}
WING = "portfolio"
DOORS = {"service", "records"}
# One importer each: the HTTP service mounts handlers, the worker registers jobs.
SIDE_DOORS = {"api": ("builders", "app"), "jobs": ("builders", "worker")}
FIRST = {"conn", "pool", "database"}  # one connection, or where a door gets several


def room_of(module: tuple[str, ...]) -> tuple[str, ...] | None:
    """The room that a module is in, such as `("builders", "portfolio", "team")`; None outside of rooms."""
    if len(module) == 1 or module[0] != "builders" or module[1] in OPEN:
        return None
    return module[:3] if module[1] == WING else module[:2]


def imported(file: Source) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Every imported name in full: `from builders.mail import service` gives builders.mail.service."""
    for node in file.nodes:
        if isinstance(node, ast.Import):
            yield from ((node, tuple(each.name.split("."))) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = file.package[: len(file.package) - node.level + 1] if node.level else ()
            inside = tuple(node.module.split(".")) if node.module else ()
            yield from ((node, (*above, *inside, each.name)) for each in node.names)


def only_doors(file: Source) -> Iterator[str]:
    """From outside a room only its service and its records are imported, by name."""
    here = room_of(file.module)
    for node, name in imported(file):
        room = room_of(name)
        if room is None or room == here:
            continue
        part = name[len(room)] if len(name) > len(room) else None
        if part not in DOORS and SIDE_DOORS.get(part or "") != file.module:
            yield f"{file.at(node)}: {'.'.join(name)} is not a door of {'.'.join(room)}"


def door_shape(file: Source) -> Iterator[str]:
    """An async door takes the connection, or where to get one, first and all else by keyword."""
    if file.path.name != "service.py":
        return
    for door in file.tree.body:
        if not isinstance(door, ast.AsyncFunctionDef) or door.name.startswith("_"):
            continue
        names = [each.arg for each in (*door.args.posonlyargs, *door.args.args)]
        if len(names) != 1 or names[0] not in FIRST or door.args.vararg is not None:
            yield f"{file.at(door)}: {door.name}({', '.join(names)}): connection first, all else by keyword"


def unseen_folders(files: Iterable[Source]) -> list[str]:
    """Folders with modules but without an `__init__.py`: import-linter does not see what is in them."""
    folders: dict[str, set[str]] = {}
    for file in files:
        folders.setdefault(str(file.path.parent), set()).add(file.path.name)
    return [folder for folder, names in folders.items() if "__init__.py" not in names]

"""One mechanism for each task: rules against a second one."""

import ast
from collections.abc import Iterator

from tests.architecture.source import Source

_DECLARING = {"queue.app.task", "queue.app.periodic", "dispatcher.subscribe", "dispatcher.subscribe_batches"}
# `model_fields_set` and `exclude_unset` distinguish an absent member from null.
_ABSENT = {"model_fields_set", "exclude_unset"}


def merge_patch(file: Source) -> Iterator[str]:
    """Yield a second mechanism for merge patches: only `PatchBody` distinguishes an absent member from null."""
    if (
        file.path.parts[:2] == ("builders", "kit") or file.path.name == "session.py"
    ):  # settings of the command line
        return
    for node in file.nodes:
        match node:
            case ast.Attribute(attr=name) if name in _ABSENT:
                yield f"{file.at(node)}: {name}: use PatchBody.patch_of"
            case ast.keyword(arg=str(name)) if name in _ABSENT:
                yield f"{file.path}:{node.lineno}: {name}: use PatchBody.patch_of"


def stray_job(file: Source) -> Iterator[str]:
    """Yield tasks and subscribers outside of `jobs.py`, which only the worker imports."""
    if file.path.parts[:2] == ("builders", "kit") or file.path.name == "jobs.py":
        return
    for node in file.nodes:
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in _DECLARING:
            yield f"{file.at(node)}: {called} belongs in jobs.py"

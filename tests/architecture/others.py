"""What rules find in the files of tests, benchmarks and pages, which are read once for all of them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.architecture import calls, habits, sizes
from tests.architecture.source import ROOT, Rule, Source, sources

EVERYWHERE: Sequence[Rule] = (
    habits.enum_literal,
    habits.late_import,
    habits.typing_import,
    habits.timed_assertion,
    habits.unexplained_exception,
    sizes.long_file,
    sizes.long_function,
    sizes.vague_name,
)


def marks(file: Source) -> Iterator[str]:
    """Yield the names in the marks `maximum(NAME)` of a file of tests."""
    for node in file.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="maximum") as function, args=names):
                if ast.unparse(function) == "pytest.mark.maximum":
                    yield from (str(ast.literal_eval(each)) for each in names)
            case _:
                pass


FOLDERS = ("tests", "bench", "soak", "docs")
# The folders of each rule.
RULES: Mapping[Rule, Sequence[str]] = {
    **dict.fromkeys(EVERYWHERE, FOLDERS),
    habits.patched_constant: ("tests", "bench", "soak"),
    calls.wrong_call: ("tests", "bench", "soak"),
    marks: ("tests",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """The folders with files, and what each rule found."""

    folders: set[str]
    found: Mapping[Rule, Sequence[str]]


def read_others() -> Others:
    """Return what the rules find."""
    folders, found = set[str](), {rule: list[str]() for rule in RULES}
    for file in sources(ROOT, *FOLDERS):  # one at a time: all together would fill the memory
        folders.add(file.path.parts[0])
        for rule, its_folders in RULES.items():
            if file.path.parts[0] in its_folders:
                found[rule] += rule(file)
    return Others(folders=folders, found=found)

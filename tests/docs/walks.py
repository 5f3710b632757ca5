"""A page as steps: its shell lines, and the answers that it shows.

In an answer `…` stands for what was left out or differs each time, and a line break with the blanks after it for
nothing, since answers are broken to fit the page.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BREAK = re.compile(r"\n\s*")
_BETWEEN = "\n===== the next lines =====\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Shell lines to type, and the answer that the page shows, if any."""

    lines: str
    answer: str | None


def read(page: str) -> list[Step]:
    """Return the `sh` blocks of a page, each with the `json` or `text` block that follows it."""
    steps: list[Step] = []
    for kind, text in _FENCE.findall(page):
        if kind == "sh":
            steps.append(Step(lines=text, answer=None))
        elif kind in {"json", "text"} and steps:
            steps[-1] = Step(lines=steps[-1].lines, answer=text)
    return steps


def fits(answer: str, printed: str) -> bool:
    """Return whether the output is what the page shows."""
    parts = _BREAK.sub("", answer.strip()).split("…")
    return re.fullmatch(".*".join(map(re.escape, parts)), _BREAK.sub("", printed.strip()), re.DOTALL) is not None


def walk(steps: list[Step], *, places: Mapping[str, str], folder: Path, within_s: float = 60) -> list[str]:
    """Type all the lines into one shell, in the folder; return what each step printed.

    `places` are what a reader fills in: the address, the keys. A line that fails ends the walk.
    """
    lines = f"printf '%s' '{_BETWEEN}'\n".join(step.lines for step in steps)
    for place, value in places.items():
        lines = lines.replace(place, value)
    typed = subprocess.run(
        ["bash", "-c", f"set -eu\n{lines}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )
    assert typed.returncode == 0, f"{typed.stdout}\n{typed.stderr}"
    return typed.stdout.split(_BETWEEN)

"""The commands of the pages are typed, and print the answers that the pages show."""

import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.demo_server import AHEAD
from tests.docs import walks
from tests.docs.walks import Step
from tests.promises import pages

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TUTORIALS = ("first-alias", "portfolio")
# How-to pages whose answers are shown; what they assume is typed first.
PORTFOLIO_PAGES = (
    "import-a-portfolio",
    "record-parking-revenue",
    "track-cost-and-profit",
    "book-registrar-charges",
    "import-domains-of-a-registrar-without-an-api",
    "set-up-renewal-notices",
    "decide-renewals",
    "move-a-domain-to-another-registrar",
    "compare-with-registrars",
    "organise-a-portfolio",
)
# Pages about registrar connections: their readers copy the first line from the output of the demo's registrars.
REGISTRAR_PAGES = ("tutorial/registrars", "how-to/connect-a-registrar")
REGISTRAR_START = "export API=http://127.0.0.1:8000/v1 TEST=DOMAINER_TEST\n"
PORTFOLIO_START = "export API=http://127.0.0.1:8000/v1 LIVE=DOMAINER_LIVE TEST=DOMAINER_TEST\n"

# Typed first, it moves the reader's own clock a year ahead.
IN_A_YEAR = f"""
export PYTHONPATH={AHEAD}
date() {{
  local words=() day=now
  while [ $# -gt 0 ]; do
    if [ "$1" = -d ]; then day=$2; shift; else words+=("$1"); fi
    shift
  done
  command date "${{words[@]}}" -d "$day 365 days"
}}
"""

LEFT_SET = Step(
    lines='printf "%s" "${API-}${LIVE-}${TEST-}"\n', answer=None
)  # with a secret, in the reader's shell

tools = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("bash")), reason="the pages are typed with bash and curl"
)


def typed(page: Path, places: Mapping[str, str], folder: Path, *, start: str | None = None) -> list[str]:
    """Return what each step of the page printed, after a comparison with the page; `start` is typed first."""
    steps = walks.read(page.read_text(encoding="utf-8"))
    steps = steps if start is None else [Step(lines=start, answer=None), *steps]
    ends = [LEFT_SET] if page.parent.name == "tutorial" else []
    *printed, left = walks.walk([*steps, *ends], places=places, folder=folder) + ([] if ends else [""])
    assert left == "", f"variables are left set: {left}"
    for step, text in zip(steps, printed, strict=True):
        if step.answer is None:
            assert text.strip() == "", f"{step.lines}says, and the page does not show it:\n{text}"
        else:
            assert walks.fits(step.answer, text), f"{step.lines}says\n{text}\nand the page shows\n{step.answer}"
    return printed


@tools
def test_the_readme_ends_with_a_promoted_alias_and_a_taken_name(demo: Mapping[str, str], tmp_path: Path) -> None:
    # script/promises types the lines that install it; here its environment has it.
    bld = shlex.join(
        ["env", f"PYTHONPATH={ROOT / 'clients' / 'python'}", sys.executable, "-m", "builders_client.cli"]
    )
    lines = pages.client_lines()
    assert len(lines) == 2
    installed = {"\n".join(lines): f'bld() {{ {bld} "$@"; }}'}
    printed = typed(README, {**installed, **demo}, tmp_path)
    promoted, taken, again = (json.loads(text) for text in printed[-3:])
    assert promoted["status"] == "succeeded"
    assert taken["reason"] == "taken"
    assert again == promoted
    assert list(tmp_path.iterdir()) == []


@tools
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_answers_as_it_says(demo: Mapping[str, str], tmp_path: Path, name: str) -> None:
    assert len(typed(ROOT / "docs" / "tutorial" / f"{name}.md", demo, tmp_path)) > 10
    assert list(tmp_path.iterdir()) == []


@tools
@pytest.mark.parametrize("name", PORTFOLIO_PAGES)
def test_a_page_about_the_portfolio_answers_as_it_says(demo: Mapping[str, str], tmp_path: Path, name: str) -> None:
    assert len(typed(ROOT / "docs" / "how-to" / f"{name}.md", demo, tmp_path, start=PORTFOLIO_START)) > 3


@tools
def test_the_page_about_programs_answers_as_it_says(demo: Mapping[str, str], tmp_path: Path) -> None:
    assert len(typed(ROOT / "docs" / "how-to" / "connect-a-program.md", demo, tmp_path)) == 3


@tools
@pytest.mark.system
@pytest.mark.parametrize("page", [*(f"how-to/{name}" for name in PORTFOLIO_PAGES), "tutorial/portfolio"])
def test_dated_examples_stay_true(demo_in_a_year: Mapping[str, str], tmp_path: Path, page: str) -> None:
    start = IN_A_YEAR + (PORTFOLIO_START if page.startswith("how-to/") else "")
    assert len(typed(ROOT / "docs" / f"{page}.md", demo_in_a_year, tmp_path, start=start)) > 3


@tools
@pytest.mark.parametrize("name", REGISTRAR_PAGES)
def test_a_page_about_registrars_answers_as_it_says(demo: Mapping[str, str], tmp_path: Path, name: str) -> None:
    assert len(typed(ROOT / "docs" / f"{name}.md", demo, tmp_path, start=REGISTRAR_START)) > 3
    if name.startswith("tutorial/"):
        assert list(tmp_path.iterdir()) == []


def test_the_readme_is_four_lines_from_nothing_to_an_alias() -> None:
    first, *_ = walks.read(README.read_text(encoding="utf-8"))
    assert [line.split()[0] for line in first.lines.splitlines()] == ["python3", "pip", "export", "bld"]


def test_the_readme_is_six_lines_from_a_key_to_an_alias() -> None:
    steps = walks.read(README.read_text(encoding="utf-8"))
    asking = [step.lines for step in steps if "curl" in step.lines]
    assert len(asking) == 6 + 2
    assert "sandbox/promote" in asking[5]


def test_a_step_is_lines_and_the_answer_below_them() -> None:
    page = "Type:\n```sh\necho 1\n```\nThen\n```sh\necho 2\n```\n```json\n2\n```\n"
    assert walks.read(page) == [Step(lines="echo 1\n", answer=None), Step(lines="echo 2\n", answer="2\n")]


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ('{"a":1,"b":2}', True),
        ('{"a":1,\n  "b":2}\n', True),
        ('{"a":…}', True),
        ('{"a":2,…}', False),
        ('{"a":1}', False),
        ("{.a.:1,.b.:2}", False),
    ],
)
def test_an_answer_fits_but_for_what_it_leaves_out(answer: str, *, fits: bool) -> None:
    assert walks.fits(answer, '{"a":1,"b":2}\n') is fits


def test_each_step_prints_for_itself_and_fills_in_the_places(tmp_path: Path) -> None:
    steps = [Step(lines="NAME=svc_…\n", answer=None), Step(lines='echo "$NAME"\n', answer="x")]
    assert walks.walk(steps, places={"svc_…": "svc_1"}, folder=tmp_path) == ["", "svc_1\n"]

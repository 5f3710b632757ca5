import subprocess
import sys

import pytest
from click.testing import CliRunner

from builders.cli.main import COMMANDS, main
from tests.cli.conftest import Cli

# One interpreter for all: none may load modules that only the service needs.
LOADED = """
import sys
from builders.cli.main import main
for words in sys.argv[1:]:
    main(words.split(), standalone_mode=False)
    print([name for name in ("builders.app", "builders.worker", "stripe", "fpdf") if name in sys.modules])
"""


def loaded_by(*commands: str) -> list[str]:
    """Return what is loaded after a command, for all commands in turn."""
    program = [sys.executable, "-P", "-c", LOADED, *commands]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith("[")]


def test_other_commands_do_not_load_the_service() -> None:
    commands = ["--version", "keys --help", "doctor --help", "migrate --help"]
    assert loaded_by(*commands) == ["[]"] * len(commands)


def test_the_worker_does_not_load_the_http_application() -> None:
    (loaded,) = loaded_by("worker --help")
    assert "builders.worker" in loaded
    assert "builders.app" not in loaded


def test_no_process_loads_the_packages_of_pdf_at_its_start() -> None:
    assert [line for line in loaded_by("worker --help", "http --help") if "fpdf" in line] == []


def test_every_command_has_its_name_in_the_table(command: Cli) -> None:
    for name in COMMANDS:
        assert command(name, "--help").stdout.startswith(f"Usage: main {name} ")


def test_an_unknown_command_gets_a_suggestion(command: Cli) -> None:
    result = command("kesy")
    assert (result.exit_code, "Did you mean 'keys'?" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("typed", "place", "offered"),
    [
        ("builders acc", 1, "accounts"),
        ("builders accounts sh", 2, "show"),
        ("builders keys create --pre", 3, "--preset"),
    ],
)
def test_a_shell_completes_commands_and_options(typed: str, place: int, offered: str) -> None:
    environment = {"_BUILDERS_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(place)}
    said = CliRunner().invoke(main, [], env=environment, prog_name="builders")

    assert offered in {line.partition(",")[2] for line in said.stdout.splitlines()}

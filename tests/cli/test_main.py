import subprocess
import sys

import pytest

from builders.cli.main import COMMANDS
from tests.cli.conftest import Cli

LOADED = """
import sys
from builders.cli.main import main
main(sys.argv[1:], standalone_mode=False)
print([name for name in ("builders.app", "builders.worker", "stripe", "fpdf") if name in sys.modules])
"""


@pytest.mark.parametrize("words", [["--version"], ["keys", "--help"], ["doctor", "--help"], ["migrate", "--help"]])
def test_what_serves_nothing_does_not_load_the_service(words: list[str]) -> None:
    program = [sys.executable, "-P", "-c", LOADED, *words]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_is_called_as_the_table_says(command: Cli) -> None:
    for name in COMMANDS:
        assert command(name, "--help").stdout.startswith(f"Usage: main {name} ")


def test_a_name_that_is_none_is_answered_with_what_was_meant(command: Cli) -> None:
    result = command("kesy")
    assert (result.exit_code, "Did you mean 'keys'?" in result.stderr) == (2, True)

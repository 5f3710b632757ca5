"""Global options, exit codes, errors, and what the command line imports."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from builders_client.cli import output, texts
from builders_client.cli.main import app, command_map, hoist
from builders_client.cli.state import State
from codegen.generate import PACKAGE
from tests.cast import Person
from tests.clients.python.cli.make import Bld
from tests.clients.python.far_end import Answer, answering, in_turn

IMPORTED = """
import sys
from typer.testing import CliRunner
from builders_client.cli import output
from builders_client.cli.main import app
done = CliRunner().invoke(app, sys.argv[1:])
assert done.exit_code == 0, done.output
print(*sorted({"pydantic", "httpx2", "yaml", "keyring"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("words", [["--help"], ["names", "claim", "--help"], ["--map", "json"], ["--version"]])
def test_help_imports_neither_the_models_nor_the_http_library(words: list[str]) -> None:
    command = [sys.executable, "-c", IMPORTED, *words]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("words", "hoisted"),
    [
        ("names list --json", "--json= names list"),
        ("names list --json id,price.amount --limit 3", "--json=id,price.amount names list --limit 3"),
        ("names show --json ada@harbour.example", "--json= names show ada@harbour.example"),
        ("--json names list", "--json= names list"),
        ("names list --json=id", "--json=id names list"),
        ("plan --profile work --jsonl -f x", "--profile work --jsonl plan -f x"),
        ("api x -- --json", "api x -- --json"),
    ],
)
def test_global_options_stand_anywhere(words: str, hoisted: str) -> None:
    assert hoist(words.split()) == hoisted.split()


def test_the_map_has_each_command_with_a_help() -> None:
    tree = command_map(typer.main.get_command(app), "bld")

    def each(command: dict[str, Any]) -> list[dict[str, Any]]:
        return [command, *(one for below in command["commands"] for one in each(below))]

    assert [one["name"] for one in each(tree) if not one["help"]] == []
    without = [
        f"{one['name']} {parameter['name']}"
        for one in each(tree)
        for parameter in one["parameters"]
        if not parameter["help"] and parameter["name"] != "help"
    ]
    assert without == []
    assert json.dumps(tree)


def test_without_the_extra_it_says_what_to_install() -> None:
    lines = "import sys; sys.modules['typer'] = None; from builders_client.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", lines], cwd=PACKAGE.parent, capture_output=True, check=False)
    assert (done.returncode, b"builders-client[cli]" in done.stderr) == (1, True)


async def test_the_map_is_printed_as_json(bld: Bld) -> None:
    """With each version of typer: script/promises asks the oldest and the newest."""
    done = await bld("--map", "json")
    assert {"names", "plan", "api", "listen"} <= {each["name"] for each in done.json["commands"]}
    plan = next(each for each in done.json["commands"] if each["name"] == "plan")
    types = {each["name"]: each["type"] for each in (*done.json["parameters"], *plan["parameters"])}
    assert {"str", "path", "boolean", "int"} >= set(types.values())
    assert (types["profile"], types["test"], types["install_completion"]) == ("str", "boolean", "boolean")


async def test_an_unknown_command_is_a_usage_error(bld: Bld) -> None:
    assert (await bld("nonsense")).code == 2


async def test_without_a_key_the_exit_code_is_4(bld: Bld) -> None:
    bld.key = None
    done = await bld("names", "list")
    assert (done.code, "bld login" in done.err, done.out) == (4, True, "")


async def test_a_wrong_key_exits_with_4(bld: Bld) -> None:
    bld.key = "svc_live_nonsense"
    done = await bld("names", "list")
    assert (done.code, "Next: " in done.err) == (4, True)


async def test_a_key_without_the_scope_exits_with_4(dana: Person, bld: Bld) -> None:
    bld.key = dana.key
    done = await bld("names", "list")
    assert (done.code, "Next: " in done.err) == (4, True)


async def test_without_an_address_the_error_says_how_to_give_it(bld: Bld) -> None:
    done = await bld("names", "list", BUILDERS_API_URL="")
    assert (done.code, "--api-url" in done.err) == (2, True)


async def test_an_error_is_json_where_the_output_is(bld: Bld) -> None:
    done = await bld("names", "show", "00000000-0000-7000-8000-000000000000", "--json")
    told = json.loads(done.err)["error"]
    assert (done.code, told["code"], told["exit_code"], told["status"]) == (1, "alias_not_found", 1, 404)
    assert told["next_action"]


async def test_unknown_members_are_a_usage_error_with_the_known_ones(bld: Bld) -> None:
    done = await bld("whoami", "--json", "accuont")
    assert (done.code, "account" in done.err) == (2, True)


async def test_a_test_key_of_the_environment_wins(bld: Bld, alice: Person) -> None:
    done = await bld("whoami", "--json")
    assert (done.json["source"], done.json["account"]["email"]) == ("BUILDERS_API_KEY", alice.account.email)


def test_text_of_others_does_not_control_the_terminal() -> None:
    assert texts.plain({"x": "\x1b]0;owned\x07 \u202e"}) == "x=\ufffd]0;owned\ufffd \ufffd"


def test_what_a_person_copies_is_whole_in_each_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    item: dict[str, str] = {"id": "0193a1b2-0000-7000-8000-000000000001", "url": f"https://a.example/{'x' * 30}"}
    columns: Mapping[str, output.Column] = {"ID": "id", "URL": "url", "PENDING": lambda _: 7}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    found = {}
    for width in ("40", "80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        output.show_list(State(pager=False), [item], columns, empty="")
        found[width] = capsys.readouterr().out
        assert item["id"] in found[width]
    assert len(found["40"].splitlines()) == 3  # one for each member
    assert len(found["80"].splitlines()) == 3  # the titles, and the address on two lines
    assert item["url"] in found["200"]


def run_with_colour(*words: str, **env: str) -> str:
    done = CliRunner().invoke(app, list(words), env={"BUILDERS_API_URL": "", **env}, color=True)
    return done.output


def test_no_color_turns_colours_off() -> None:
    assert "\x1b" in run_with_colour("names", "list", NO_COLOR="")
    assert "\x1b" not in run_with_colour("names", "list", NO_COLOR="1")


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
async def test_a_profile_is_no_path(bld: Bld, name: str) -> None:
    assert (await bld("--profile", name, "names", "list")).code == 2


def test_an_interrupt_exits_with_130() -> None:
    quiet = Answer(200, {"items": [], "next_cursor": None, "resume_cursor": "1", "available_since": ""})
    with answering(in_turn(quiet._replace(pause=0.001))) as far_end:
        command = [sys.executable, "-m", "builders_client.cli", "events", "tail"]
        env = os.environ | {"BUILDERS_API_URL": far_end.address, "BUILDERS_API_KEY": "svc_live_key"}
        with subprocess.Popen(command, cwd=PACKAGE.parent, env=env, stderr=subprocess.PIPE) as process:
            while not far_end.asked:
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert (process.returncode, said.strip()) == (130, b"Cancelled.")


def test_commands_are_completed() -> None:
    lines = "from builders_client.cli import main; main()"
    env = os.environ | {"_BLD_COMPLETE": "complete_bash", "COMP_WORDS": "bld names ", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=PACKAGE.parent, env=env, capture_output=True, check=True
    )
    assert {b"claim", b"list", b"release"} <= set(done.stdout.split())

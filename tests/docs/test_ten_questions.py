"""Each of the ten questions of the page is answered by its command, on a running service."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, builders, data_folder, environment, free_port

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "find-out-what-is-wrong.md"
_SECTION = re.compile(r"^## ([^\n]+\?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(_SECTION.findall(PAGE.read_text(encoding="utf-8")))
ADDRESS = "locked@example.net"
# What the commands of a question print here; those of the second one are those of the first.
ANSWERS = {
    "Why are requests slow?": ("loop lag", "machine", "transaction", "projects_list_projects", " /"),
    "Who causes the load?": (),
    "How old is the oldest undelivered event?": ("oldest undelivered event: 0 s",),
    "Is mail stuck?": ("No messages",),
    "What fills the disk?": ("postgres/cluster/pg_wal",),
    "Did the backup run?": ("last backup",),
    "Which job fails?": ("No job has failed",),
    "Is a registrar away?": (),
    "Who was locked out?": ("account.suspended", "operator", ADDRESS, "1 401 credentials_invalid 127.0.0.1"),
    "What changed?": ("migrations", "settings changed", "account.suspended"),
}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def serving(port: int) -> Iterator[Serving]:
    with data_folder() as data, Serving(data, BUILDERS_METRICS_PORT=str(port)) as running:
        running.wait()
        wait_until(lambda: running.is_whole(workers=1))
        assert builders(data, "accounts", "create", "--email", ADDRESS).returncode == 0
        words = ("keys", "create", "--account", ADDRESS, "--kind", "live", "--preset", "developer_full", "--json")
        key = json.loads(builders(data, *words).stdout)["secret"]
        assert running.status("/v1/builders/projects", key) == 200
        assert running.status("/v1/builders/projects", "svc_live_wrong") == 401
        done = builders(data, "accounts", "suspend", "--account", ADDRESS, "--reason", "a test")
        assert done.returncode == 0, done.stderr
        yield running


def test_the_page_has_the_ten_questions() -> None:
    assert [*SECTIONS] == [*ANSWERS]


@pytest.mark.parametrize("question", [name for name, text in SECTIONS.items() if "\n    " in text])
def test_a_command_answers_its_question(serving: Serving, port: int, question: str) -> None:
    lines = "\n".join(re.findall(r"^    (.+)$", SECTIONS[question], re.MULTILINE))
    log = serving.data.with_name(f"log-{serving.port}")
    program = (
        f'builders() {{ {shlex.quote(sys.executable)} -m builders "$@"; }}\n'
        f"journalctl() {{ cat {shlex.quote(str(log))}; }}\nset -eo pipefail\n"
    )
    typed = lines.replace("9464", str(port)).replace("sleep 60", "sleep 0")
    done = subprocess.run(
        ["bash", "-c", f"{program}{typed}"],
        env=environment(serving.data),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert [each for each in ANSWERS[question] if each not in done.stdout] == [], done.stdout


def test_the_busiest_account_is_named(serving: Serving) -> None:
    assert ADDRESS in builders(serving.data, "top", "--once").stdout

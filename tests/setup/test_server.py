"""script/server in a checkout without an environment: what it says before it installs anything."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders.cli import ports
from builders.kit.process.settings import Settings

ROOT = Path(__file__).parents[2]
INSTALLS = "#!/bin/sh\necho installs\n"  # script/docs and script/builders, which set up an environment


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout without an environment."""
    scripts = tmp_path / "script"
    scripts.mkdir()
    for name in ("server", "bootstrap"):
        shutil.copy(ROOT / "script" / name, scripts)
    for name in ("docs", "builders"):
        (scripts / name).write_text(INSTALLS)
        (scripts / name).chmod(0o755)
    for name in ("src", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(checkout: Path, *words: str, python: str = sys.executable) -> "subprocess.CompletedProcess[str]":
    settings = {
        name: value for name, value in os.environ.items() if name not in {"BUILDERS_VENV", "BUILDERS_PORT"}
    }
    return subprocess.run(
        [checkout / "script" / "server", *words],
        env=settings | {"BUILDERS_PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--port", "9", "--help"]])
def test_help_needs_neither_an_installation_nor_python(checkout: Path, words: Sequence[str]) -> None:
    ran = run(checkout, *words, python="/no/python/is/asked")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Usage: script/server [OPTIONS]" in ran.stdout
    assert "--no-migrate" in ran.stdout
    assert "builders token" not in ran.stdout
    assert not (checkout / ".venv").exists()


def test_a_taken_port_is_noticed_before_an_installation(checkout: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run(checkout, "--port", str(port))

    said = f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use. Choose another port by --port"
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(said)
    assert not (checkout / ".venv").exists()


def test_a_free_port_leads_to_the_installation(checkout: Path) -> None:
    ran = run(checkout, "--port", "0", "--workers", "2")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "installs\ninstalls\n", "")


IPV4, IPV6 = "127.0.0.1", "::1"


@pytest.mark.parametrize(
    ("words", "settings", "listens", "is_refused"),
    [
        (["--port", "TAKEN"], {}, IPV4, True),
        (["--port=TAKEN"], {}, IPV4, True),
        (["--port", "0", "--port", "TAKEN"], {}, IPV4, True),
        (["--workers", "2"], {"BUILDERS_PORT": "TAKEN"}, IPV4, True),
        ([], {"builders_port": "TAKEN"}, IPV4, True),
        (["--host", "localhost", "--port", "TAKEN"], {}, IPV4, True),
        (["--host=::1", "--port", "TAKEN"], {}, IPV6, True),
        (["--port", "TAKEN"], {"BUILDERS_HOST": "::"}, IPV6, True),
        (["--port", "0"], {"BUILDERS_PORT": "TAKEN"}, IPV4, False),
        (["--host", "::1", "--port", "TAKEN"], {}, IPV4, False),
        (["--worker-only", "--port", "TAKEN"], {}, IPV4, False),
        # `serve` refuses these.
        (["--port"], {}, IPV4, False),
        (["--port", "x"], {}, IPV4, False),
        (["--port", "65536"], {}, IPV4, False),
    ],
)
def test_the_port_of_the_arguments_and_the_settings_is_checked(
    words: Sequence[str],
    settings: dict[str, str],
    listens: str,
    *,
    is_refused: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BUILDERS_PORT", raising=False)
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    with socket.create_server((listens, 0), family=family) as taken:
        port = str(taken.getsockname()[1])
        for name, value in settings.items():
            monkeypatch.setenv(name, value.replace("TAKEN", port))
        given = [each.replace("TAKEN", port) for each in words]
        if is_refused:
            with pytest.raises(ports.CannotListen, match="already in use"):
                ports.check(given, in_use_s=0.0)
        else:
            ports.check(given, in_use_s=0.0)


def test_the_defaults_are_those_of_the_settings() -> None:
    fields = Settings.model_fields
    assert (fields["host"].default, fields["port"].default) == (ports.HOST, ports.PORT)

"""Settings are refused when a process starts, with a message that says what to write."""

import os

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from builders.cli.main import main
from builders.kit.process.settings import Settings


@pytest.mark.parametrize("command", ["serve", "worker", "migrate", "doctor"])
@pytest.mark.parametrize("wrong", ["http://127.0.0.1:9000", "127.0.0.1", "localhost:9000/x", "127.1:9", "a:70000"])
def test_a_wrong_allowed_host_is_refused_by_every_process(
    command: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILDERS_OUTBOUND_ALLOW", f"localhost:1234, {wrong}")
    result = CliRunner().invoke(main, [command])
    assert result.exit_code == os.EX_CONFIG
    assert "BUILDERS_OUTBOUND_ALLOW: not a host and a port: write 127.0.0.1:9000" in result.output


def test_allowed_hosts_are_read() -> None:
    right = ("127.0.0.1:9000", "[::1]:9000", "localhost:9000", "stand-in.example.com:80")
    assert Settings(outbound_allow=right).outbound_allow == right


@pytest.mark.parametrize(("text", "factor"), [("off", None), ("0.5", 0.5), ("", 1.0), ("1e6", 1_000_000.0)])
def test_the_limit_factor_is_a_number_or_off(
    monkeypatch: pytest.MonkeyPatch, text: str, factor: float | None
) -> None:
    monkeypatch.setenv("BUILDERS_LIMITS", text)
    assert Settings().limits == factor


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e7", "on", "none"])
def test_a_malformed_factor_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BUILDERS_LIMITS", text)
    with pytest.raises(ValidationError, match="limits"):
        Settings()

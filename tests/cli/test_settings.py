import json
import os
import re
from pathlib import Path

import pytest

from builders.cli import address, session
from tests.cli.conftest import Cli

SECRET = "hidden-word"
EVERY = [
    ("accounts", "create", "--email", "ada@example.net"),
    ("keys", "list", "--account", "ada@example.net"),
    ("migrate",),
    ("demo",),
    ("serve",),
    ("worker",),
]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BUILDERS_PORT", SECRET, "BUILDERS_PORT: Input should be a valid integer"),
        ("BUILDERS_PORT", "65536", "BUILDERS_PORT: Input should be less than or equal to 65535"),
        ("BUILDERS_POOL_SIZE", "0", "BUILDERS_POOL_SIZE: Input should be greater than or equal to 1"),
        ("BUILDERS_KEY_CACHE_S", SECRET, "BUILDERS_KEY_CACHE_S: Input should be a valid number"),
        *(
            ("BUILDERS_BASE_URL", url, "BUILDERS_BASE_URL: write ")
            for url in (SECRET, f"ftp://{SECRET}", f"https://{SECRET}?a=b", "http://")
        ),
        ("BUILDERS_BASE_URL", f"https://{SECRET}:99999", "BUILDERS_BASE_URL: Port out of range 0-65535"),
        ("BUILDERS_OIDC_ISSUERS", f"[{SECRET}", "BUILDERS_OIDC_ISSUERS: not JSON"),
        ("BUILDERS_LOG_LEVEL", "loud", "BUILDERS_LOG_LEVEL: 'loud' is not a log level"),
    ],
)
def test_an_invalid_setting_is_named_without_its_value(
    command: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    for words in [*EVERY, ("doctor",)]:
        result = command(*words)

        assert (result.exit_code, result.stdout) == (os.EX_CONFIG, "")
        assert result.stderr.startswith(f"Error: {said}")
        assert SECRET not in result.output


def test_all_invalid_settings_are_named(command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_PORT", "x")
    monkeypatch.setenv("BUILDERS_BODY_LIMIT", "1")

    result = command("migrate")

    assert [line.partition(":")[0] for line in result.stderr.removeprefix("Error: ").splitlines()] == [
        *("BUILDERS_PORT", "BUILDERS_BODY_LIMIT")
    ]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"postgresql://ada:{SECRET}@127.0.0.1:1/builders", "Connection refused"),
        (f"postgresql://ada:pass@{SECRET}@127.0.0.1/builders", "not a PostgreSQL connection string"),
        (f"postgresql://ada:pass/{SECRET}@127.0.0.1/builders", "not a PostgreSQL connection string"),
        (f"host=127.0.0.1 password=a {SECRET}", "not a PostgreSQL connection string"),
        (f"host={'x' * 64} port=1 password={SECRET}", "correct the host"),
        (f"mysql://ada:{SECRET}@127.0.0.1/builders", "not a PostgreSQL connection string"),
    ],
)
@pytest.mark.parametrize("variable", ["BUILDERS_DATABASE_URL", "DATABASE_URL"])
def test_an_unreachable_database_is_named_without_its_password(
    command: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, url: str, said: str
) -> None:
    monkeypatch.setenv(variable, url)
    for words in EVERY:
        result = command(*words)

        assert (result.exit_code, result.stdout) == (1, ""), words
        assert said in result.stderr
        assert SECRET not in result.output


def test_weak_secret_keys_are_refused_without_showing_them(
    builders: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_SECRET_KEYS", f"{SECRET},{'x' * 50}")

    result = builders("serve")

    assert result.exit_code == os.EX_CONFIG
    assert "secret key is too short or not random" in result.stderr
    assert SECRET not in result.output


def test_a_read_only_data_folder_is_refused(builders: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    plain_environment.setenv("BUILDERS_DATA_DIR", "/dev/null/data")

    result = builders("serve")

    assert result.exit_code == 1
    assert "Cannot store the secret keys in /dev/null/data: Not a directory." in result.stderr


def test_an_embedded_database_without_a_folder_is_refused(
    command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATA_DIR", "/dev/null/data")

    result = command("migrate")

    assert result.exit_code == 1
    assert "Cannot keep a database in /dev/null/data" in result.stderr


def test_json_has_the_form_of_the_http_api(builders: Cli, email: str) -> None:
    text = builders("accounts", "create", "--email", email, "--name", "Ädä", "--json").stdout

    assert text.isascii()
    assert json.loads(text)["name"] == "Ädä"
    assert json.loads(text)["created_at"].endswith("Z")


def test_an_error_suggests_the_next_command(builders: Cli, email: str) -> None:
    unknown = builders("keys", "list", "--account", email)
    assert unknown.stderr.endswith(f"{session.NEXT_COMMANDS['account_not_found']}\n")

    mistyped = builders("acounts")
    assert "Did you mean 'accounts'?" in mistyped.stderr


@pytest.mark.parametrize("text", session.NEXT_COMMANDS.values())
def test_the_suggested_commands_exist(command: Cli, text: str) -> None:
    suggested = re.findall("`builders ([a-z ]+)", text)
    assert suggested
    assert all(command(*words.split(), "--help").exit_code == 0 for words in suggested)


def test_commands_write_links_to_the_address_of_serve(
    plain_environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain_environment.delenv("BUILDERS_PORT")
    plain_environment.setenv("BUILDERS_DATA_DIR", str(tmp_path))
    own = "http://127.0.0.1:8000"
    assert linked() == own

    with address.kept(session.read_settings(port=9123), parts_path=""):
        assert session.read_settings().url == own
        assert linked() == "http://127.0.0.1:9123"
        plain_environment.setenv("BUILDERS_PORT", "8001")
        assert linked() == "http://127.0.0.1:9123"  # where it listens, not where it would
        plain_environment.setenv("BUILDERS_BASE_URL", "https://builders.example")
        assert linked() == "https://builders.example"
        plain_environment.delenv("BUILDERS_BASE_URL")
        with address.kept(session.read_settings(port=9124), parts_path=""):
            assert linked() == "http://127.0.0.1:9124"
        assert linked() == "http://127.0.0.1:9123"  # which still runs

    (tmp_path / address.SERVED).write_text(
        '{"host": "127.0.0.1", "port": 9123, "pid": 4194305}'
    )  # no such process
    assert linked() == "http://127.0.0.1:8001"
    plain_environment.delenv("BUILDERS_PORT")
    assert linked() == "http://127.0.0.1:9123"
    (tmp_path / address.SERVED).write_text("[]")
    assert linked() == own


def linked() -> str:
    """Return the address in the links of commands."""
    return address.with_address(session.read_settings()).url

"""`builders audit`: what was done in accounts."""

import json

import pytest

from tests.cli.conftest import Cli


def listed(builders: Cli, *words: str) -> list[dict[str, object]]:
    result = builders("audit", "--json", "--limit", "1000", *words)
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, object]] = json.loads(result.stdout)
    return found


@pytest.fixture
def suspended(builders: Cli, account: str) -> str:
    assert builders("accounts", "suspend", "--account", account, "--reason", "a test").exit_code == 0
    return account


def test_a_suspension_is_listed_with_its_actor(builders: Cli, suspended: str) -> None:
    (entry,) = listed(builders, "--account", suspended, "--action", "account.suspended")
    assert (entry["action"], entry["actor_type"]) == ("account.suspended", "operator")
    assert entry in listed(builders)
    text = builders("audit", "--account", suspended).stdout
    assert text.splitlines()[0].split() == ["AT", "ACTION", "BY", "ACCOUNT", "ADDRESS", "ABOUT"]
    assert f"{entry['account_id']}  {suspended}  " in text
    assert entry["email"] == suspended


@pytest.mark.parametrize("words", [("--by", "agent"), ("--action", "api_key.refused")])
def test_entries_are_filtered(builders: Cli, suspended: str, words: tuple[str, ...]) -> None:
    assert listed(builders, "--account", suspended, *words) == []


def test_several_actions_can_be_named(builders: Cli, suspended: str) -> None:
    found = listed(
        builders, "--account", suspended, "--action", "api_key.refused", "--action", "account.suspended"
    )
    assert [each["action"] for each in found] == ["account.suspended"]


def test_entries_of_another_account_are_left_out(builders: Cli, suspended: str) -> None:
    assert suspended
    assert builders("accounts", "create", "--email", f"other-{suspended}").exit_code == 0
    found = listed(builders, "--account", f"other-{suspended}", "--action", "account.suspended")
    assert found == []

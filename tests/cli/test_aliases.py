"""`builders aliases export`: files for a mail server."""

import asyncio
import itertools
import json
import re
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from builders.aliases.records import AliasSpec
from builders.domains import account_domains
from builders.domains.records import DomainChange
from builders.identity import accounts
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.aliases.make import Owner, fresh, spec, wait_for_horizon
from tests.cli.conftest import Cli
from tests.plans.make import Domains


class Harbour:
    """An account with names; each call runs its own event loop, as the command does."""

    def __init__(self, conninfo: str, settings: Settings) -> None:
        self._conninfo, self._settings = conninfo, settings
        self.email = f"ada-{ids.new().hex}@example.net"
        self.account_id = self.do(self._open)

    def do(self, work: Callable[[Database], Awaitable[Any]]) -> Any:
        """Run a function on the database."""

        async def inside() -> Any:
            database = Database(self._conninfo, self._settings)
            await database.open()
            try:
                return await work(database)
            finally:
                await database.close()

        return asyncio.run(inside())

    async def _open(self, database: Database) -> Any:
        async with database.transaction() as conn:
            return (await accounts.create_account(conn, email=self.email, verified=True)).id

    def claim(self, *specs: AliasSpec) -> None:
        """Claim names."""
        self.do(lambda database: Owner(database, account_id=self.account_id).claim(*specs))

    def release_all(self) -> None:
        """Release all names."""

        async def work(database: Database) -> None:
            owner = Owner(database, account_id=self.account_id)
            await owner.release(*(await owner.aliases()).values())

        self.do(work)


@pytest.fixture
def harbour(conninfo: str, settings: Settings) -> Harbour:
    """Return an account with names."""
    return Harbour(conninfo, settings)


def test_a_map_has_the_format_of_postmap(builders: Cli, harbour: Harbour, tmp_path: Path, assets: Path) -> None:
    own, domain = harbour.email, harbour.do(lambda database: Domains(database, folder=tmp_path, assets=assets)())
    harbour.claim(spec("jane.doe", domain, own), spec("off", domain, own, enabled=False), spec("bob", domain, own))
    path = tmp_path / "builders"
    result = builders("aliases", "export", "--output", path)
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = [line.split(None, 1) for line in path.read_text().splitlines() if domain in line]
    assert dict(rows) == {
        f"janedoe@{domain}": own,
        f"jane.doe@{domain}": own,
        f"bob@{domain}": own,
        domain: domain,
    }


def test_changes_continue_from_a_serial(builders: Cli, harbour: Harbour, tmp_path: Path) -> None:
    own, domain = harbour.email, fresh()
    harbour.claim(spec("ada", domain, own))

    def lines(*words: str) -> tuple[list[dict[str, object]], str]:
        harbour.do(wait_for_horizon)
        result = builders("aliases", "export", "--format", "json", *words)
        assert result.exit_code == 0, result.output
        found = [json.loads(line) for line in result.stdout.splitlines()]
        return [each for each in found if each.get("domain") == domain], str(found[-1]["next_serial"])

    name = {"domain": domain, "key": "ada", "local_part": "ada"}
    exported, serial = lines()
    assert exported == [{"op": "set", **name, "destinations": [own]}]
    exported, serial = lines("--since", serial)
    assert exported == []
    harbour.release_all()
    exported, _ = lines("--since", serial)
    assert exported == [{"op": "delete", **name}]
    said = builders("aliases", "export", "--json", "--since", serial, "--output", tmp_path / "changes").stderr
    assert re.fullmatch(rf"1 change \(next serial \d+\) is in {tmp_path}/changes\.\n", said)
    assert lines()[0] == []


def test_an_export_has_catch_alls(builders: Cli, harbour: Harbour) -> None:
    domain, own = fresh(), harbour.email
    assert builders("domains", "assign", domain, "--account", own, "--source", "leased").exit_code == 0

    async def set_catch_all(database: Database) -> None:
        owner: dict[str, Any] = {"account_id": harbour.account_id}
        async with database.transaction() as conn:
            held = (await account_domains.load_domains(conn, **owner, domains=[domain]))[domain]
            settings: dict[str, Any] = {
                "catch_all": True,
                "default_destination": own,
                "manifest": None,
                "manifest_key": None,
            }
            change = DomainChange(id=held.id, version=held.version, **settings)
            await account_domains.update_many(conn, **owner, changes=[change])

    harbour.do(set_catch_all)
    lines = builders("aliases", "export").stdout.splitlines()
    assert {f"@{domain} {own}", f"{domain} {domain}"} <= set(lines)
    catch_alls, _ = map(json.loads, builders("aliases", "export", "--format", "json").stdout.splitlines()[-2:])
    assert catch_alls["catch_alls"][domain] == [own]


def test_spellings_follow_the_rules_of_each_domain(
    builders: Cli, harbour: Harbour, tmp_path: Path, assets: Path
) -> None:
    policies = ("ignore_dots", "ignore_all", "distinct")

    async def load(database: Database) -> list[str]:
        domains = Domains(database, folder=tmp_path, assets=assets)
        return [await domains(separator_policy=policy) for policy in policies]

    made = harbour.do(load)
    harbour.claim(*(spec("ada", each, harbour.email, manifest_key=each.partition(".")[0]) for each in made))
    said = builders("aliases", "export", "--format", "spellings").stdout.splitlines()
    dots, every, none = (re.escape(each) for each in made)
    blocks = {line: after for line, after in itertools.pairwise(said) if line.startswith("if ")}
    assert next(after for line, after in blocks.items() if dots in line).startswith("/^([^@+.]+)[.]")
    assert next(after for line, after in blocks.items() if every in line).startswith("/^([^@+._-]+)[._-]")
    assert not [line for line in said if none in line]


def test_a_map_takes_no_serial(builders: Cli) -> None:
    partial = builders("aliases", "export", "--since", "5")
    assert (partial.exit_code, "--format json" in partial.output) == (2, True)
    ahead = builders("aliases", "export", "--since", "999999999999", "--json")
    assert (ahead.exit_code, "another database" in ahead.output) == (1, True)

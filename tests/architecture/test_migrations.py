"""Released migrations never change: a database that applied one would refuse to start. Before, they are edited."""

import tomllib
from pathlib import Path

import builders
from builders.kit.db import migrations

FILE = Path(__file__).with_name("migrations.toml")
PACKAGES = Path(builders.__file__).parent


def test_released_migrations_are_unchanged() -> None:
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    present = {each.name: each.digest for each in migrations.list_migrations()}
    changed = [name for name, digest in released.items() if present.get(name) != digest]
    assert not changed, f"{', '.join(changed)} changed after the release: undo it, and add a new migration"


def test_every_released_migration_exists() -> None:
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    names = [each.name for each in migrations.list_migrations()]
    assert list(released) == names[: len(released)]


def test_each_migration_has_its_own_number() -> None:
    numbers = [each.name.partition("_")[0] for each in migrations.list_migrations()]
    assert numbers == [f"{number:04d}" for number in range(1, len(numbers) + 1)]


def test_each_package_has_one_migration_before_the_first_release() -> None:
    """A change of the schema edits the file of its package; a numbered change begins after the release."""
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    packages = [each.name.partition("_")[2].removesuffix(".sql") for each in migrations.list_migrations()]
    assert released or sorted(packages) == sorted({*packages})
    assert released or all((PACKAGES / each).is_dir() for each in packages)

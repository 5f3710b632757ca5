"""Imports each module of the service and lets each command explain itself, in the environment that is checked.

It runs there as a program of its own, beside no other file of the checkout. It prints what it did.
"""

import importlib
import pkgutil
import sys

import click


def import_all(package_name: str) -> int:
    """Import each module of a package; return their number."""
    package = importlib.import_module(package_name)
    names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{package_name}.")]
    for name in names:
        if not name.endswith(".__main__"):  # which runs the command
            importlib.import_module(name)
    return len(names)


def explain(command: click.Command, words: tuple[str, ...] = ()) -> int:
    """Run a command and all below it with --help; return their number."""
    try:
        command.main([*words, "--help"], prog_name="builders", standalone_mode=True)
    except SystemExit as left:
        if left.code:
            raise
    below = command
    context = click.Context(command)
    for word in words:
        found = below.get_command(context, word) if isinstance(below, click.Group) else None
        if found is None:
            raise LookupError(word)
        below = found
    if not isinstance(below, click.Group):
        return 1
    return 1 + sum(explain(command, (*words, each)) for each in below.list_commands(context))


if __name__ == "__main__":
    modules = import_all("builders")
    commands = explain(importlib.import_module("builders.cli.main").main)
    sys.stdout.write(f"\n{modules} modules, {commands} commands\n")

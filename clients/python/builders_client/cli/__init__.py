"""The command line `bld`: the extra `builders-client[cli]`."""

import os
import sys
from collections.abc import Callable

from builders_client.cli.faults import UNREAD


def main() -> None:
    """Run `bld`."""
    _prepare_streams()
    try:
        from builders_client.cli.main import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("builders_client"):
            raise
        _end(f"bld needs {error.name}. Install it: pip install 'builders-client[cli]'")
    _run(lambda: app(prog_name="bld"))


def _prepare_streams() -> None:
    """Let output in an encoding without a character contain a substitute. End without an output."""
    for name in ("stdin", "stderr"):
        if getattr(sys, name) is None:  # closed, such as by `2>&-`
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - a stream
    if getattr(sys, "stdout") is None:  # noqa: B009 - its type does not say so
        _end("The standard output is closed. Next: Redirect it to a file, or to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr] # a file of the operating system


def _run(command: Callable[[], object]) -> None:
    """Run a command, and report an output that cannot be written."""
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Python itself would write the rest at its end, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # such as `| head -1`
            sys.exit(UNREAD)
        _end(f"Error: The output cannot be written: {error.strerror or error}.\nNext: Write it to another place.")


def _end(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.exit(1)

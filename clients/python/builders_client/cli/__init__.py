"""The command line `bld`: the extra `builders-client[cli]`."""

import sys


def main() -> None:
    """Run `bld`."""
    try:
        from builders_client.cli.main import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("builders_client"):
            raise
        sys.stderr.write(f"bld needs {error.name}. Install it: pip install 'builders-client[cli]'\n")
        sys.exit(1)
    app(prog_name="bld")

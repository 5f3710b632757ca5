"""The three that are measured, each a process of its own on the same core: `python -m bench.contenders NAME`."""

import argparse
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from bench import limit, usual
from builders.app import Service, create_app, settle
from builders.cli import protocol
from builders.kit.process import log
from builders.kit.process.settings import Settings


def make_service(data_dir: Path, conninfo: str) -> Service:
    """The service as it is, with limits that count and never refuse."""
    return create_app(Settings.model_validate({"data_dir": data_dir, "database_url": conninfo, "limits": 1e6}))


BODY_LIMIT = 2 * 1024 * 1024  # bytes, as it is by default
Make = Callable[[Path, str], Any]  # an ASGI application
CONTENDERS: dict[str, Make] = {"limit": limit.make, "ours": make_service, "usual": usual.make}


def pin(core: int | None) -> None:
    """Keeps this process on a core, where the system can."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def main() -> None:
    """Serves one of the three on the socket that was handed over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=CONTENDERS)
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--core", type=int)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--conninfo", required=True)
    given = parser.parse_args()
    pin(given.core)
    # Where it costs all but the disk; open for the life of the process.
    nowhere = Path(os.devnull).open("w")  # noqa: SIM115
    log.configure(stream=nowhere)
    app = CONTENDERS[given.name](given.data_dir, given.conninfo)
    if given.name == "usual":  # uvicorn's access line as it comes, to the same place
        access = logging.getLogger("uvicorn.access")
        access.setLevel(logging.INFO)
        access.propagate = False
        access.addHandler(logging.StreamHandler(nowhere))
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol.bounded(BODY_LIMIT) if given.name == "ours" else "httptools",
        ws="none",
        log_config=None,
        access_log=given.name == "usual",
        proxy_headers=given.name == "usual",  # as uvicorn comes; ours is served without, and the limit is bare
        server_header=False,
        timeout_keep_alive=600,  # while one is measured the others wait
    )
    if given.name == "ours":
        settle()  # as `builders serve` does
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=given.fd)])


if __name__ == "__main__":
    main()

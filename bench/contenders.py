"""Run one of the three contenders as a process: `python -m bench.contenders NAME`."""

import argparse
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from bench import bare_asgi, fastapi_orm
from builders.app import Service, create_app, settle
from builders.cli import protocol
from builders.kit.process import log
from builders.kit.process.settings import Settings


def make_service(data_dir: Path, conninfo: str) -> Service:
    """Return the service, with rate limits that count and never refuse."""
    return create_app(Settings.model_validate({"data_dir": data_dir, "database_url": conninfo, "limits": 1e6}))


BODY_LIMIT = 2 * 1024 * 1024  # bytes, the default of the service
Make = Callable[[Path, str], Any]  # an ASGI application
CONTENDERS: dict[str, Make] = {
    "bare_asgi": bare_asgi.make,
    "service": make_service,
    "fastapi_orm": fastapi_orm.make,
}


def pin(core: int | None) -> None:
    """Pin this process to a core where the system supports it."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def main() -> None:
    """Serve one contender on an inherited socket."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=CONTENDERS)
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--core", type=int)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--conninfo", required=True)
    given = parser.parse_args()
    pin(given.core)
    # Logging costs everything but the disk; the file stays open for the life of the process.
    devnull = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process
    log.configure(stream=devnull)
    app = CONTENDERS[given.name](given.data_dir, given.conninfo)
    if given.name == "fastapi_orm":  # uvicorn's default access log, to the same file
        access = logging.getLogger("uvicorn.access")
        access.setLevel(logging.INFO)
        access.propagate = False
        access.addHandler(logging.StreamHandler(devnull))
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol.bounded(BODY_LIMIT) if given.name == "service" else "httptools",
        ws="none",
        log_config=None,
        access_log=given.name == "fastapi_orm",
        proxy_headers=given.name == "fastapi_orm",  # uvicorn's default; the service disables it
        server_header=False,
        timeout_keep_alive=600,  # connections to the others are idle while one is measured
    )
    if given.name == "service":
        settle()  # `builders serve` does this too
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=given.fd)])


if __name__ == "__main__":
    main()

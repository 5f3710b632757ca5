# ruff: noqa: INP001 - a program of the image; not a package
"""The probe of a container: it ends with 1 if `builders serve` does not work. It needs nothing but Python.

It asks the parent process, which replaces a child that hangs: a worker with much work is no reason to restart it.
Of HTTP it asks whether a process is alive (/livez), not whether it is ready.
"""

import http.client
import json
import os
import sys
import time
from pathlib import Path

SILENT_S = 60.0  # the parent looks after its children five times a second
WITHIN_S = 5.0
CONNECT_TO = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not bound


def find_fault(data_dir: Path) -> str | None:
    """Return what is wrong; None if nothing is."""
    try:
        served = json.loads((data_dir / "served-at.json").read_text(encoding="utf-8"))
        parts = Path(served["parts"])
        silent_s = time.time() - parts.stat().st_mtime
        names = json.loads(parts.read_bytes().partition(b"\n")[0])
        if silent_s > SILENT_S:
            return f"`builders serve` has been silent for {silent_s:.0f} s."
        if any(name.startswith("http-") for name in names):
            host = CONNECT_TO.get(served["host"], served["host"])
            connection = http.client.HTTPConnection(host, served["port"], timeout=WITHIN_S)
            connection.request("GET", "/livez")
            status = connection.getresponse().status
            return None if status == http.HTTPStatus.OK else f"/livez answers {status}."
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"`builders serve` does not run here, or does not answer: {error}"
    return None


if __name__ == "__main__":
    sys.exit(find_fault(Path(os.environ.get("BUILDERS_DATA_DIR", ".data"))))

"""The probe of a container asks the parent process of the service."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.serving import Serving, data_folder
from tests.promises.versions import ROOT

PROBE = ROOT / "deploy" / "container" / "alive.py"


def probe(data: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BUILDERS_DATA_DIR": str(data)}
    return subprocess.run(
        [sys.executable, "-I", PROBE], env=environment, capture_output=True, text=True, check=False
    )


def test_a_running_service_is_alive_and_a_killed_one_is_not(unused_database: str) -> None:
    with data_folder() as data, Serving(data, "--http-only", BUILDERS_DATABASE_URL=unused_database) as serving:
        assert probe(data).returncode == 1
        serving.wait()
        assert (probe(data).returncode, probe(data).stderr) == (0, "")
        serving.parent.send_signal(signal.SIGKILL)
        serving.parent.wait(10)
        assert "does not run here" in probe(data).stderr

"""Measure the import of the Python client: `python -m bench.client`.

New processes import its libraries alone, and with the client, in turn. The figures are of processor time, because
other programs share the core.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median

CLIENT = Path(__file__).parents[1] / "clients" / "python"
TARGET_MS = 150
ROUNDS = 10
LIBRARIES = "import httpx2, pydantic"
WITH_CLIENT = f"{LIBRARIES}; from builders_client import AsyncBuilders, Builders"


def _import_ms(lines: str) -> float:
    program = f"import time; before = time.process_time(); {lines}; print(time.process_time() - before)"
    done = subprocess.run([sys.executable, "-c", program], cwd=CLIENT, capture_output=True, check=True, timeout=60)
    return float(done.stdout) * 1000


def main() -> None:
    """Measure, and print the table."""
    rounds = [(_import_ms(LIBRARIES), _import_ms(WITH_CLIENT)) for _ in range(ROUNDS)]
    alone, whole = (median(each) for each in zip(*rounds, strict=True))
    mark = "" if whole - alone <= TARGET_MS else " (over)"
    print(f"| libraries, ms | and client, ms | difference (target {TARGET_MS:+d}) | ratio |\n|---|---|---|---|")
    print(f"| {alone:.0f} | {whole:.0f} | {whole - alone:+.0f}{mark} | {whole / alone:.2f} |")


if __name__ == "__main__":
    main()

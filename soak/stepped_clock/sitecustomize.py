"""Add the seconds in a file to the wall clock of the service; Python imports this if PYTHONPATH names the folder.

The monotonic clock stays as it is, as when an operator or NTP sets the time.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path

from builders.kit.values import clock

_FILE = Path(os.environ["SOAK_CLOCK_OFFSET"])
_now, _epoch = clock.now, clock.epoch


def _offset_s() -> int:
    return int(_FILE.read_text() or 0)


def _stepped_now() -> datetime:
    return _now() + timedelta(seconds=_offset_s())


def _stepped_epoch() -> float:
    return _epoch() + _offset_s()


clock.now, clock.epoch = _stepped_now, _stepped_epoch

from pathlib import Path

import pytest

from builders.app import Service
from tests.catalog.make import Loader


@pytest.fixture
def load(service: Service, tmp_path: Path) -> Loader:
    """Return a loader of catalog files."""
    return Loader(service, tmp_path)

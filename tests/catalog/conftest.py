from pathlib import Path

import pytest

from builders.app import Service
from tests.catalog.make import Loader


@pytest.fixture
def load(service: Service, tmp_path: Path) -> Loader:
    """Loads catalog files."""
    return Loader(service, tmp_path)

import gc

import pytest

from tests.architecture.others import Others, read_others
from tests.architecture.source import ROOT, Source, sources


@pytest.fixture(scope="package")
def codebase() -> list[Source]:
    """Return every file of the service."""
    files = list(sources(ROOT / "src", "builders"))
    gc.freeze()  # a collection that traverses so many objects slows down the next tests
    return files


@pytest.fixture(scope="package")
def others() -> Others:
    """Return what rules find in the files of tests, benchmarks and pages."""
    return read_others()

"""Fixtures of imports."""

import pytest

from builders.portfolio.domain_files import drafts
from builders.portfolio.imports import domain_imports, undo


@pytest.fixture
def tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tenth of the rows be a large import, a part and a batch of an undo: a test has fewer rows."""
    monkeypatch.setattr(domain_imports, "inline_rows", domain_imports.inline_rows // 10)
    monkeypatch.setattr(drafts, "part_rows", drafts.part_rows // 10)
    monkeypatch.setattr(undo, "batch_rows", undo.batch_rows // 10)

"""Every case of Unicode's IdnaTestV2.txt, from the source archive of idna that `script/system` downloads."""

import ast
import os
import tarfile
from pathlib import Path

import pytest

from builders.kit.values.domain_names import find_a_label

ARCHIVE = os.environ.get("BUILDERS_IDNA_SOURCE")  # idna-X.Y.tar.gz
DOTS = ".\u3002\uff0e\uff61"  # UTS 46, 4.5: full stops

pytestmark = pytest.mark.skipif(ARCHIVE is None, reason="the source archive of idna is not there")


def official_cases() -> list[tuple[str, str | None]]:
    """Return each text of the file with its A-label, None for an error."""
    assert ARCHIVE is not None
    with tarfile.open(ARCHIVE) as archive:
        (member,) = [name for name in archive.getnames() if Path(name).name == "test_idna_uts46.py"]
        file = archive.extractfile(member)
        assert file is not None
        tree = ast.parse(file.read())
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return [case for call in calls if (case := find_case(call)) is not None]


def find_case(call: ast.Call) -> tuple[str, str | None] | None:
    """Return the case of assertEqual(idna.encode(TEXT), LABEL) or assertRaises(ERROR, idna.encode, TEXT)."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="assertEqual"),
            args=[
                ast.Call(func=ast.Attribute(attr="encode"), args=[ast.Constant(str(text)), *_]),
                ast.Constant(bytes(label)),
            ],
        ):
            return text, label.decode("ascii")
        case ast.Call(
            func=ast.Attribute(attr="assertRaises"),
            args=[_, ast.Attribute(attr="encode"), ast.Constant(str(text))],
        ):
            return text, None
    return None


def test_the_official_cases_of_uts_46() -> None:
    cases = official_cases()
    assert len(cases) > 6_000
    wrong = []
    for text, label in cases:
        if label is None and text[-1:] and text[-1] in DOTS:
            continue  # the file refuses the dot of the root, which people write
        expected = label if label and "." in label.rstrip(".") else None  # a TLD alone is no domain of anyone
        if find_a_label(text) != (expected and expected.removesuffix(".")):
            wrong.append((text, expected, find_a_label(text)))
    assert wrong == []

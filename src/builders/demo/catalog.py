"""Where the demo catalog is, in a checkout as in an installed wheel."""

import csv
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO


def demo_csv() -> Traversable:
    """The catalog file in UTF-8, with the columns of `builders catalog load`.

    `importlib.resources.as_file` gives its path.
    """
    return files("builders.demo") / "catalog.csv"


def list_titles() -> list[tuple[str, str]]:
    """Each demo domain as (A-label domain, title), in the order of the file; what `write_images` takes."""
    text = demo_csv().read_text(encoding="utf-8")
    return [(row["domain"], row["title"]) for row in csv.DictReader(StringIO(text, newline=""))]

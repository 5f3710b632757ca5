"""The file of the demo catalog, in a checkout and in an installed wheel."""

import csv
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO


def demo_csv() -> Traversable:
    """Return the catalog file: UTF-8, with the columns of `builders catalog load`.

    `importlib.resources.as_file` gives its path.
    """
    return files("builders.demo") / "catalog.csv"


def list_titles() -> list[tuple[str, str]]:
    """Return the (A-label, title) of each demo domain in the order of the file, for `write_images`."""
    text = demo_csv().read_text(encoding="utf-8")
    return [(row["domain"], row["title"]) for row in csv.DictReader(StringIO(text, newline=""))]

"""Write the table of a benchmark into docs/explanation/speed.md, between two marks."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/explanation/speed.md"
MARK, END = "<!-- script/bench {} --write writes from here -->", "<!-- to here -->"


def write_table(name: str, table: str, *, page: Path = PAGE) -> None:
    """Replace the table of the benchmark on the page. Raise ValueError for a page without its marks."""
    mark = MARK.format(name)
    before, _, rest = page.read_text(encoding="utf-8").partition(mark)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page} has no place for the table: {mark} … {END}")
    page.write_text(f"{before}{mark}\n\n{table}\n\n{end}{after}", encoding="utf-8")

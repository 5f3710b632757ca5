"""Draw curves with logarithmic axes as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import floor, log10

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720, 360, 60, 40, 40, 220
INK = "#767676"  # legible on light and on dark pages
# Of Okabe and Ito, which people with any colour vision tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
Points = Sequence[tuple[float, float]]  # rows and milliseconds, both positive


def draw(title: str, curves: Mapping[str, Points]) -> str:
    """Return an SVG of curves with their names."""
    points = [point for curve in curves.values() for point in curve]
    columns = _decades([x for x, _ in points])
    lines = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - columns[0]) / (columns[-1] - columns[0])
        up = (log10(y) - lines[0]) / (lines[-1] - lines[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    def parts() -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="sans-serif" font-size="12" fill="{INK}"><title>{escape(title)}</title>'
        )
        yield f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>'
        for decade in columns:
            x, y = place(10**decade, 10 ** lines[0])
            yield f'<text x="{x:.0f}" y="{y + 20:.0f}" text-anchor="middle">{10**decade:,}</text>'
        for decade in lines:
            x, y = place(10 ** columns[0], 10**decade)
            yield f'<path d="M{x:.0f} {y:.0f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity=".3"/>'
            yield f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{10**decade:,} ms</text>'
        for number, (name, curve) in enumerate(curves.items()):
            colour = COLOURS[number % len(COLOURS)]
            path = "L".join(f"{x:.0f} {y:.0f}" for x, y in (place(*point) for point in curve))
            yield f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"/>'
            y = TOP + 20 * number
            yield f'<path d="M{WIDTH - RIGHT + 12} {y}h16" stroke="{colour}" stroke-width="3"/>'
            yield f'<text x="{WIDTH - RIGHT + 34}" y="{y + 4}">{escape(name.removeprefix("/v1"))}</text>'
        yield "</svg>\n"

    return "\n".join(parts())


def _decades(values: Sequence[float]) -> range:
    """Return the powers of ten around the values, two at least."""
    first = floor(log10(min(values)))
    return range(first, max(first + 1, -floor(-log10(max(values)))) + 1)

"""Motifs of the demo images: each draws on a scene and has no other dependency."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from PIL import ImageDraw

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Five colours, from the darkest to the lightest, and an accent."""

    deep: Colour
    mid: Colour
    bright: Colour
    accent: Colour
    pale: Colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The scene of a motif: the canvas in pixels, its focus, a palette, and the dials of the domain."""

    draw: ImageDraw.ImageDraw  # in RGBA mode, so that fills with an alpha blend
    width: int
    height: int
    focus: tuple[float, float]
    palette: Palette
    dials: tuple[float, ...]  # 16 numbers in 0..1, from a hash of the domain

    def dial(self, index: int, low: float, high: float) -> float:
        """Return the dial at the index, scaled to low..high."""
        return low + self.dials[index] * (high - low)


Motif = Callable[[Scene], None]

_SPECK = 0.04  # smaller halftone dots are not drawn


def blend(one: Colour, other: Colour, share: float) -> Colour:
    """Return the colour at `share` (0..1) of the way from one to the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _disc(scene: Scene, centre: tuple[float, float], radius: float, fill: tuple[int, ...]) -> None:
    x, y = centre
    scene.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def _sun(scene: Scene, centre: tuple[float, float], radius: float) -> None:
    for halo, alpha in ((1.9, 22), (1.55, 30), (1.25, 42)):
        _disc(scene, centre, radius * halo, (*scene.palette.accent, alpha))
    _disc(scene, centre, radius, scene.palette.accent)


def _hill(scene: Scene, heights: list[float], fill: Colour) -> None:
    step = scene.width / (len(heights) - 1)
    outline = [(i * step, y) for i, y in enumerate(heights)]
    scene.draw.polygon([(0, scene.height), *outline, (scene.width, scene.height)], fill=fill)


def waves(scene: Scene) -> None:
    """Draw a low sun over four waves, each nearer and darker."""
    h, p = scene.height, scene.palette
    _sun(scene, (scene.focus[0], h * scene.dial(0, 0.34, 0.44)), h * scene.dial(1, 0.15, 0.2))
    for layer in range(4):
        level = h * (0.6 + 0.11 * layer)
        swell = h * scene.dial(2 + layer, 0.03, 0.06)
        turns = scene.dial(6 + layer, 0.55, 1.15) * scene.width / h * math.tau
        phase = scene.dial(10 + layer, 0, math.tau)
        curve = [level + swell * math.sin(turns * i / 120 + phase) for i in range(121)]
        _hill(scene, curve, blend(blend(p.mid, p.bright, 0.75), p.deep, layer / 3.4))


def ridges(scene: Scene) -> None:
    """Draw mountain ranges under a moon, the far ones paler."""
    h, p, aspect = scene.height, scene.palette, scene.width / scene.height
    _sun(scene, (scene.focus[0] + h * scene.dial(0, -0.1, 0.1), h * 0.3), h * scene.dial(1, 0.1, 0.15))
    for layer in range(4):
        level, rise = h * (0.67 + 0.09 * layer), h * (0.14 - 0.022 * layer)
        a, b = (scene.dial(2 + layer, 1.6, 2.6) * aspect, scene.dial(6 + layer, 3.6, 5.6) * aspect)
        phase = scene.dial(10 + layer, 0, 1)
        line = [_peaks(i / 160 * a + phase) * 0.75 + _peaks(i / 160 * b + phase) * 0.3 for i in range(161)]
        shade = blend(blend(p.bright, p.mid, 0.35), p.deep, layer / 3.2)
        _hill(scene, [level - rise * height for height in line], shade)


def _peaks(x: float) -> float:
    """Return a triangle wave in -1..1 whose peaks differ in height."""
    turn, part = divmod(x, 1)
    return (1 - abs(part * 2 - 1)) * (0.6 + 0.4 * math.sin(turn * 2.4 + 1)) * 2 - 1


def rings(scene: Scene) -> None:
    """Draw rings around the focus, and one small disc on them."""
    p, (x, y), count = scene.palette, scene.focus, 7
    step = scene.height * scene.dial(0, 0.072, 0.092)
    for ring in range(count, 0, -1):
        shade = blend(p.mid, p.bright, (count - ring) / count)
        _disc(scene, (x, y), ring * step, (*shade, 150 if ring % 2 else 235))
    angle = scene.dial(1, 0, math.tau)
    _disc(scene, (x, y), step * 0.9, p.pale)
    _disc(scene, (x + math.cos(angle) * step * 3.5, y + math.sin(angle) * step * 3.5), step * 0.8, p.accent)


def tiles(scene: Scene) -> None:
    """Draw a mosaic of quarter circles on the side of the focus."""
    p, side = scene.palette, scene.height / 4
    left = scene.width - side * (4 if scene.width < scene.height * 1.2 else 3)
    shades = (p.bright, p.accent, p.mid, p.pale, blend(p.mid, p.bright, 0.5))
    for index in range(16):
        row, column = divmod(index, 4)
        turn = int(scene.dials[index] * 4) % 4
        x, y = left + column * side, row * side
        background = blend(p.deep, p.mid, (0.25, 0.75)[(row + column) % 2])
        scene.draw.rectangle((x, y, x + side - 1, y + side - 1), fill=background)
        corner = (x + side * (turn % 2), y + side * (turn // 2))
        start = (0, 90, 270, 180)[turn]
        box = (corner[0] - side, corner[1] - side, corner[0] + side - 1, corner[1] + side - 1)
        fill = shades[int(scene.dials[index] * 40) % len(shades)]
        scene.draw.pieslice(box, start, start + 90, fill=fill)


def orbs(scene: Scene) -> None:
    """Draw three large translucent discs that overlap, and a bright one."""
    h, p, (x, y) = scene.height, scene.palette, scene.focus
    spin = scene.dial(0, 0, math.tau)
    for index, shade in enumerate((p.bright, p.accent, p.mid)):
        angle = spin + index * math.tau / 3
        centre = x + math.cos(angle) * h * 0.19, y + math.sin(angle) * h * 0.19
        _disc(scene, centre, h * scene.dial(1 + index, 0.24, 0.34), (*shade, 150))
    _disc(scene, (x + math.cos(spin + 1) * h * 0.4, y + math.sin(spin + 1) * h * 0.4), h * 0.06, p.pale)


def beams(scene: Scene) -> None:
    """Draw rounded bars side by side, of different heights."""
    w, h, p, (x, y) = scene.width, scene.height, scene.palette, scene.focus
    count, bar = 9, min(w, h) * 0.055
    pitch = bar * 1.75
    for index in range(count):
        reach = h * (0.1 + 0.3 * abs(math.sin(scene.dials[0] * 6 + index * scene.dial(1, 0.5, 1.1))))
        left = x + (index - count / 2) * pitch
        shade = p.accent if index == int(scene.dials[2] * count) else blend(p.mid, p.bright, 0.3 + index / 12)
        scene.draw.rounded_rectangle((left, y - reach, left + bar, y + reach), bar / 2, fill=shade)


def halftone(scene: Scene) -> None:
    """Draw a field of dots that grow toward the focus."""
    w, h, p, (x, y) = scene.width, scene.height, scene.palette, scene.focus
    pitch, spread = h / scene.dial(0, 13, 16), h * scene.dial(1, 0.5, 0.62)
    for row in range(int(h / pitch) + 2):
        for column in range(int(w / pitch) + 2):
            at = (column + row % 2 / 2) * pitch, row * pitch
            near = 1 - math.dist(at, (x, y)) / spread
            if near > _SPECK:
                shade = blend(p.bright, p.accent, max(0.0, near * 1.6 - 0.6))
                _disc(scene, at, pitch * 0.56 * near**0.7, shade)


def steps(scene: Scene) -> None:
    """Draw nested arches."""
    h, p, (x, _) = scene.height, scene.palette, scene.focus
    radii = [h * scene.dial(0, 0.4, 0.46) * share for share in (1, 0.8, 0.6, 0.4, 0.2)]
    base, shades = h * 0.98, (p.mid, p.bright, p.accent, p.pale, p.deep)
    spring = h * scene.dial(1, 0.5, 0.6)
    for radius, shade in zip(radii, shades, strict=True):
        _disc(scene, (x, spring), radius, shade)
        scene.draw.rectangle((x - radius, spring, x + radius, base + h), fill=shade)


MOTIFS: tuple[Motif, ...] = (waves, ridges, rings, tiles, orbs, beams, halftone, steps)

_SWATCHES = (
    "0b2545 13548a 3fa7d6 ffd166 f4f9ff",
    "3a0c3d 8b2252 f2545b ffb35c fff1e0",
    "0d2b22 1f5c45 57a773 f2c14e f1f8ec",
    "1b1145 46309b 8e7dff ff9f7a f5f1ff",
    "3b1f1a 93453a e07a5f f2cc8f fdf4e8",
    "05353a 0b7a75 3fd0b6 ffda77 effcf8",
    "471337 a32d6b f277a6 ffd0a8 fff2f6",
    "141c2b 33476b 7f9cd1 ff8a5b f2f5fb",
    "2a2f14 66702a b5bd4c ff9b54 fafbe8",
    "0a1a5c 1f45d1 5f9bff 7ff0d0 eef4ff",
    "24122e 5d2a63 b45ea5 f9c74f fbf1f8",
    "2b0d0e 8c1c13 e85d2f ffba49 fff4e6",
    "0e2f44 2b7a9b 8fd3e8 ff7f6b f3fbff",
    "102a2c 2e6862 8ccfb8 ff9fb2 f4fbf8",
)


def _palette(swatch: str) -> Palette:
    deep, mid, bright, accent, pale = ((c[0], c[1], c[2]) for c in map(bytes.fromhex, swatch.split()))
    return Palette(deep=deep, mid=mid, bright=bright, accent=accent, pale=pale)


PALETTES = tuple(_palette(swatch) for swatch in _SWATCHES)

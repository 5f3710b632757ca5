"""Logos and covers of the demo catalog: the bytes depend on the name and title alone."""

import asyncio
import hashlib
import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import cast

import idna
from PIL import Image, ImageDraw, ImageFont

LOGO_SIZE = (256, 256)
COVER_SIZE = (1200, 630)  # the size of an Open Graph card

_SUPERSAMPLE = 2  # shapes of Pillow have hard edges; reducing the canvas smooths them
_DIAERESIS, _ACUTE = "\u0308", "\u0301"
_DISC = 80  # pixels: radius of the disc under the initial
_ORBS = 3  # translucent discs that overlap


Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Five colours, from the darkest to the lightest, and an accent."""

    deep: Colour
    mid: Colour
    bright: Colour
    accent: Colour
    pale: Colour


def blend(one: Colour, other: Colour, share: float) -> Colour:
    """Return the colour at `share` (0..1) of the way from one to the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


_SWATCHES = (
    "0b2545 13548a 3fa7d6 ffd166 f4f9ff",
    "3a0c3d 8b2252 f2545b ffb35c fff1e0",
    "0d2b22 1f5c45 57a773 f2c14e f1f8ec",
    "1b1145 46309b 8e7dff ff9f7a f5f1ff",
    "3b1f1a 93453a e07a5f f2cc8f fdf4e8",
    "05353a 0b7a75 3fd0b6 ffda77 effcf8",
    "471337 a32d6b f277a6 ffd0a8 fff2f6",
    "141c2b 33476b 7f9cd1 ff8a5b f2f5fb",
)


def _palette(swatch: str) -> Palette:
    deep, mid, bright, accent, pale = ((c[0], c[1], c[2]) for c in map(bytes.fromhex, swatch.split()))
    return Palette(deep=deep, mid=mid, bright=bright, accent=accent, pale=pale)


PALETTES = tuple(_palette(swatch) for swatch in _SWATCHES)


def logo_name(domain: str) -> str:
    """Return the file name of the logo of a domain: its first label, then `-logo.png`."""
    return f"{domain.partition('.')[0]}-logo.png"


def cover_name(domain: str) -> str:
    """Return the file name of the cover of a domain: its first label, then `-cover.png`."""
    return f"{domain.partition('.')[0]}-cover.png"


def write_images(folder: Path, domains: Iterable[tuple[str, str]]) -> list[Path]:
    """Draw a logo and a cover for each (A-label, title); create the folder, and replace files of these names.

    Return the paths in the order of the domains, the logo before the cover.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for domain, title in domains:
        for name, png in ((logo_name(domain), logo(domain, title)), (cover_name(domain), cover(domain, title))):
            path = folder / name
            path.write_bytes(png)
            written.append(path)
    return written


async def draw(folder: Path, domains: Iterable[tuple[str, str]]) -> None:
    """Do the same on the event loop. In between, the pool connects: its attempts would time out."""
    for each in domains:
        write_images(folder, [each])
        await asyncio.sleep(0)


def logo(domain: str, title: str) -> bytes:
    """Return a PNG of 256 x 256: the initial of the title on a dark disc, on the discs of the domain."""
    x, y = LOGO_SIZE[0] / 2, LOGO_SIZE[1] / 2
    image, palette = _paint(domain, LOGO_SIZE, focus=(x, y))
    side = _DISC * 2 * _SUPERSAMPLE
    disc = Image.new("L", (side, side))
    ImageDraw.Draw(disc).ellipse((0, 0, side - 1, side - 1), fill=255)
    image.paste(palette.deep, (round(x) - _DISC, round(y) - _DISC), disc.reduce(_SUPERSAMPLE))
    initial, font = _bare(title[:1]).upper(), _font(_DISC * 1.2)
    ImageDraw.Draw(image).text((x, y), initial, font=font, fill=palette.pale, anchor="mm", stroke_width=2)
    return _png(image)


def cover(domain: str, title: str) -> bytes:
    """Return a PNG of 1200 x 630: the title and a sample address beside the discs of the domain."""
    width, height = COVER_SIZE
    image, palette = _paint(domain, COVER_SIZE, focus=(width * 0.79, height * 0.5))
    draw = ImageDraw.Draw(image)
    left, text_width = 84, width * 0.42
    font = _fitting_font(title, text_width, 128)
    draw.rounded_rectangle((left, 84, left + 72, 92), 4, fill=palette.accent)
    _write(draw, (left, 232), title, font, palette.pale)
    address = f"you@{idna.decode(domain)}"
    _write(
        draw,
        (left, 306),
        address,
        _fitting_font(address, text_width, 40),
        blend(palette.pale, palette.bright, 0.4),
    )
    return _png(image)


def _paint(domain: str, size: tuple[int, int], *, focus: tuple[float, float]) -> tuple[Image.Image, Palette]:
    """Return a diagonal gradient with discs around the focus, and the palette: both from a hash of the domain."""
    digest = hashlib.sha256(domain.encode()).digest()
    palette, spin = PALETTES[digest[0] % len(PALETTES)], digest[1] / 256 * math.tau
    width, height = size[0] * _SUPERSAMPLE, size[1] * _SUPERSAMPLE
    corners, middle = Image.new("RGB", (2, 2)), blend(palette.deep, palette.mid, 0.5)
    corners.putdata([palette.deep, middle, middle, palette.mid])
    # Four corner pixels, enlarged.
    image = corners.resize((width, height), Image.Resampling.BILINEAR, box=(0.5, 0.5, 1.5, 1.5))
    draw = ImageDraw.Draw(image, "RGBA")  # so that fills with an alpha blend
    for index, shade in enumerate((palette.bright, palette.accent, palette.mid)):
        angle, radius = spin + index * math.tau / _ORBS, height * (0.24 + digest[2 + index] / 2560)
        x, y = (
            each * _SUPERSAMPLE + turn * height * 0.19
            for each, turn in zip(focus, (math.cos(angle), math.sin(angle)), strict=True)
        )
        draw.circle((x, y), radius, fill=(*shade, 150))
    return image.reduce(_SUPERSAMPLE), palette


def _font(size: float) -> ImageFont.FreeTypeFont:
    # With a size, the default font is scalable; the type stubs do not say so.
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(size))


def _fitting_font(text: str, width: float, largest: float) -> ImageFont.FreeTypeFont:
    """Return the default font at the largest size at which the text is not wider than the width."""
    font = _font(largest)
    return _font(min(largest, largest * width / font.getlength(_bare(text))))


def _bare(text: str) -> str:
    """Return the text without accents and line breaks, of the same length."""
    return "".join(unicodedata.normalize("NFD", char)[0] if char.isprintable() else " " for char in text)


def _write(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, font: ImageFont.FreeTypeFont, fill: Colour
) -> None:
    """Write the text on a baseline from the point; draw its accents, which the font does not have."""
    x, y = at
    text = unicodedata.normalize("NFC", text)
    bare = _bare(text)
    draw.text((x, y), bare, font=font, fill=fill, anchor="ls")
    for index, char in enumerate(text):
        centre = x + (font.getlength(bare[:index]) + font.getlength(bare[: index + 1])) / 2
        top = y + font.getbbox(bare[index], anchor="ls")[1]
        for mark in unicodedata.normalize("NFD", char)[1:]:
            _accent(draw, (centre, top), mark, font.size, fill)


def _accent(draw: ImageDraw.ImageDraw, at: tuple[float, float], mark: str, size: float, fill: Colour) -> None:
    """Draw a diaeresis or an acute over a character from glyphs of the font; ignore other marks."""
    x, y = at
    if mark == _DIAERESIS:
        for side in (-1, 1):
            draw.text((x + side * size * 0.11, y - size * 0.09), ".", font=_font(size), fill=fill, anchor="ms")
    elif mark == _ACUTE:
        slash = _font(size * 0.22)
        draw.text(
            (x + size * 0.03, y - size * 0.07), "/", font=slash, fill=fill, anchor="ms", stroke_width=size / 90
        )


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "PNG", compress_level=6)  # level 9 takes four times as long for a tenth less
    return out.getvalue()

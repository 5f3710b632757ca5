"""The demo catalog's logos and covers: drawn at first start, the same bytes for the same name each time."""

import hashlib
import unicodedata
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import cast

import idna
from PIL import Image, ImageDraw, ImageFont

from builders.demo.motifs import MOTIFS, PALETTES, Colour, Motif, Palette, Scene, blend

LOGO_SIZE = (256, 256)
COVER_SIZE = (1200, 630)  # the size of an Open Graph card

_SUPERSAMPLE = 2  # Pillow's shapes have hard edges; halving the canvas smooths them
_DIALS = 16
_SALT = "289406"  # any would do; with this one harbour gets its sea and vinyl its grooves
_DIAERESIS, _ACUTE = "\u0308", "\u0301"
_SEAL = 80  # pixels from the middle of a logo to the rim of the disc under its letter


def logo_name(domain: str) -> str:
    """The file name of the domain's logo: its first label, then `-logo.png`."""
    return f"{domain.partition('.')[0]}-logo.png"


def cover_name(domain: str) -> str:
    """The file name of the domain's cover: its first label, then `-cover.png`."""
    return f"{domain.partition('.')[0]}-cover.png"


def write_images(folder: Path, domains: Iterable[tuple[str, str]]) -> list[Path]:
    """Draw a logo and a cover for each (A-label domain, title); makes the folder when absent.

    The paths come in the order of the domains, logo before cover; files of these names are written over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for domain, title in domains:
        for name, png in (
            (logo_name(domain), logo(domain, title)),
            (cover_name(domain), cover(domain, title)),
        ):
            path = folder / name
            path.write_bytes(png)
            written.append(path)
    return written


def logo(domain: str, title: str) -> bytes:
    """A PNG of 256 x 256: the initial of the title on the domain's motif."""
    palette, motif, dials = _look(domain)
    width, height = LOGO_SIZE
    image = _painted(LOGO_SIZE, (width / 2, height / 2), palette, motif, dials)
    _initial(image, title, palette)
    return _png(image)


def cover(domain: str, title: str) -> bytes:
    """A PNG of 1200 x 630: the title and a sample address beside the domain's motif."""
    palette, motif, dials = _look(domain)
    width, height = COVER_SIZE
    image = _painted(COVER_SIZE, (width * 0.79, height * 0.5), palette, motif, dials)
    draw = ImageDraw.Draw(image)
    left, room = 84, width * 0.42
    font = _fitting(title, room, 128)
    draw.rounded_rectangle((left, 84, left + 72, 92), 4, fill=palette.accent)
    _write(draw, (left, 232), title, font, palette.pale)
    address = f"you@{idna.decode(domain)}"
    _write(draw, (left, 306), address, _fitting(address, room, 40), blend(palette.pale, palette.bright, 0.4))
    return _png(image)


def _look(domain: str) -> tuple[Palette, Motif, tuple[float, ...]]:
    """What sets the domain's images apart, from a hash of its name alone."""
    digest = hashlib.shake_256(f"{_SALT}:{domain}".encode()).digest(_DIALS + 2)
    palette = PALETTES[digest[0] % len(PALETTES)]
    motif = MOTIFS[digest[1] % len(MOTIFS)]
    return palette, motif, tuple(byte / 256 for byte in digest[2:])


def _painted(
    size: tuple[int, int],
    focus: tuple[float, float],
    palette: Palette,
    motif: Motif,
    dials: tuple[float, ...],
) -> Image.Image:
    """A gradient with the motif on it, in RGB."""
    width, height = size[0] * _SUPERSAMPLE, size[1] * _SUPERSAMPLE
    image = _gradient((width, height), palette.deep, palette.mid)
    scene = Scene(
        draw=ImageDraw.Draw(image, "RGBA"),
        width=width,
        height=height,
        focus=(focus[0] * _SUPERSAMPLE, focus[1] * _SUPERSAMPLE),
        palette=palette,
        dials=dials,
    )
    motif(scene)
    return image.reduce(_SUPERSAMPLE)


def _gradient(size: tuple[int, int], start: Colour, end: Colour) -> Image.Image:
    """A diagonal gradient: four corner pixels, enlarged."""
    corners = Image.new("RGB", (2, 2))
    middle = blend(start, end, 0.5)
    corners.putdata([start, middle, middle, end])
    return corners.resize(size, Image.Resampling.BILINEAR, box=(0.5, 0.5, 1.5, 1.5))


def _initial(image: Image.Image, title: str, palette: Palette) -> None:
    """Set the first letter of the title into a dark seal in the middle of the image."""
    x, y = image.width / 2, image.height / 2
    side = _SEAL * 2 * _SUPERSAMPLE
    seal = Image.new("L", (side, side))
    ImageDraw.Draw(seal).ellipse((0, 0, side - 1, side - 1), fill=255)
    image.paste(palette.deep, (round(x) - _SEAL, round(y) - _SEAL), seal.reduce(_SUPERSAMPLE))
    letter, font = _bare(title[:1]).upper(), _font(_SEAL * 1.2)
    ImageDraw.Draw(image).text((x, y), letter, font=font, fill=palette.pale, anchor="mm", stroke_width=2)


def _font(size: float) -> ImageFont.FreeTypeFont:
    # With a size the default font is the scalable one; the stubs cannot say so.
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(size))


def _fitting(text: str, room: float, largest: float) -> ImageFont.FreeTypeFont:
    """The default font, at the largest size at which the text is no wider than the room."""
    font = _font(largest)
    return _font(min(largest, largest * room / font.getlength(_bare(text))))


def _bare(text: str) -> str:
    """The text without accents and line breaks, one character for each."""
    return "".join(unicodedata.normalize("NFD", char)[0] if char.isprintable() else " " for char in text)


def _write(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, font: ImageFont.FreeTypeFont, fill: Colour
) -> None:
    """Write the text on a baseline from the point, its accents set by hand: the font has none."""
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
    """Set a diaeresis or an acute over a letter, made of glyphs the font has; other marks stay unwritten."""
    x, y = at
    if mark == _DIAERESIS:
        for side in (-1, 1):
            draw.text((x + side * size * 0.11, y - size * 0.09), ".", font=_font(size), fill=fill, anchor="ms")
    elif mark == _ACUTE:
        slash = _font(size * 0.22)
        draw.text(
            (x + size * 0.03, y - size * 0.07),
            "/",
            font=slash,
            fill=fill,
            anchor="ms",
            stroke_width=size / 90,
        )


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "PNG", compress_level=6)  # 9 takes four times as long to save a tenth
    return out.getvalue()

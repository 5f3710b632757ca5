"""Images of the catalog: judged before they are taken, stored under the SHA-256 of their content.

An image is served to every visitor from our own origin, so only formats without scripts are taken (no SVG),
and what the bytes are must be what the name says.
"""

import hashlib
import os
import re
import tempfile
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image, UnidentifiedImageError

MAX_BYTES = 2 * 1024 * 1024
MAX_SIDE = 4096  # pixels
MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "avif": "image/avif",
    "gif": "image/gif",
    "ico": "image/vnd.microsoft.icon",
}
_FORMATS = {"jpg": "JPEG", "jpeg": "JPEG"}  # Pillow's name of a format, where it is not the extension
_STORED_NAME = re.compile(rf"[0-9a-f]{{64}}\.(?:{'|'.join(MEDIA_TYPES)})")


class ImageMissing(Exception):
    """There is no such file."""


class ImageRefused(Exception):
    """The file is not an image that may be shown."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidImage:
    """An image that was judged good, still where the operator has it."""

    source: Path
    filename: str  # what it is stored as
    width: int  # pixels
    height: int


def find(folder: Path, name: str) -> ValidImage:
    """The image of a path relative to the folder, from which it must not lead out.

    Raises ImageMissing and ImageRefused.
    """
    extension = name.rpartition(".")[2].lower()
    if extension not in MEDIA_TYPES:
        raise ImageRefused("image_type", f"An image is one of {', '.join(MEDIA_TYPES)}.")
    try:
        source = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # not there, a NUL, links in a circle
        raise ImageMissing from None
    if not source.is_relative_to(folder.resolve()):
        raise ImageRefused("image_outside", "The path leads out of the folder of the file.")
    if not source.is_file():
        raise ImageMissing
    content = _read(source)
    width, height = _measure(content, _FORMATS.get(extension, extension.upper()))
    return ValidImage(
        source=source,
        filename=f"{hashlib.sha256(content).hexdigest()}.{extension}",
        width=width,
        height=height,
    )


def store(found: ValidImage, assets: Path) -> None:
    """Copy the image into the assets folder, whole or not at all; nothing is done when it is there.

    Raises ImageRefused when the file was changed since it was judged.
    """
    target = assets / found.filename
    if target.exists():
        return
    content = _read(found.source)
    if hashlib.sha256(content).hexdigest() != target.stem:
        raise ImageRefused("image_changed", f"{found.source.name} was changed while it was being loaded.")
    assets.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=assets, prefix=".draft-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def stored(assets: Path, filename: str) -> Path | None:
    """The image of this name in the folder; None for any other text, so for a path that leads elsewhere."""
    path = assets / filename
    return path if _STORED_NAME.fullmatch(filename) and path.is_file() and not path.is_symlink() else None


def _read(source: Path) -> bytes:
    with source.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ImageRefused("image_too_large", f"An image has at most {MAX_BYTES} bytes.")
    return content


def _measure(content: bytes, image_format: str) -> tuple[int, int]:
    """Width and height. Only the head of the file is decoded, so no decompression bomb goes off."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content), formats=[image_format]) as image:
                width, height = image.size
                image.verify()
    except UnidentifiedImageError:
        raise ImageRefused("image_type", f"The content is not what the name says, {image_format}.") from None
    except (
        OSError,
        ValueError,
        SyntaxError,
        RuntimeError,  # what the AVIF decoder makes of a file without its image
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise ImageRefused("image_broken", f"The image cannot be read: {type(error).__name__}.") from None
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ImageRefused("image_too_large", f"{width} x {height} pixels; a side has at most {MAX_SIDE}.")
    return width, height

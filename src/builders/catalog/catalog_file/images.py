"""Images of the catalog: validated, then stored under the SHA-256 of their content.

Our own origin serves the images to every visitor, so only formats without scripts are accepted (no SVG), and the
content must have the format of the file name.
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


class ImageRefused(Exception):
    """The file is not an acceptable image."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidImage:
    """A valid image in the folder of the operator."""

    source: Path
    filename: str  # in the assets folder
    width: int  # pixels
    height: int


def find(folder: Path, name: str) -> ValidImage | None:
    """Return the image of a path relative to the folder, None without a file. Raise ImageRefused."""
    extension = name.rpartition(".")[2].lower()
    if extension not in MEDIA_TYPES:
        raise ImageRefused("image_type", f"An image is one of {', '.join(MEDIA_TYPES)}.")
    try:
        source = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # a missing file, a NUL, a loop of links
        return None
    if not source.is_relative_to(folder.resolve()):
        raise ImageRefused("image_outside", "The path is outside the folder of the file.")
    if not source.is_file():
        return None
    content = _read(source)
    width, height = _measure(content, _FORMATS.get(extension, extension.upper()))
    return ValidImage(
        source=source, filename=f"{hashlib.sha256(content).hexdigest()}.{extension}", width=width, height=height
    )


def store(found: ValidImage, assets: Path) -> None:
    """Copy the image into the assets folder atomically, unless it is there.

    Raise ImageRefused when the file was changed since its validation.
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
    """Return the stored image of this name; None for any other text, such as a path outside the folder."""
    path = assets / filename
    return path if _STORED_NAME.fullmatch(filename) and path.is_file() and not path.is_symlink() else None


def _read(source: Path) -> bytes:
    with source.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ImageRefused("image_too_large", f"An image has at most {MAX_BYTES} bytes.")
    return content


def _measure(content: bytes, image_format: str) -> tuple[int, int]:
    """Return width and height. Only the header is decoded, which is safe for decompression bombs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content), formats=[image_format]) as image:
                width, height = image.size
                image.verify()
    except UnidentifiedImageError:
        raise ImageRefused("image_type", f"The content is not {image_format}, the format of the name.") from None
    except (
        OSError,
        ValueError,
        SyntaxError,
        RuntimeError,  # of the AVIF decoder for a file without its image
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise ImageRefused("image_broken", f"The image cannot be read: {type(error).__name__}.") from None
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise ImageRefused("image_too_large", f"{width} x {height} pixels; a side has at most {MAX_SIDE}.")
    return width, height

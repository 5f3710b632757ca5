"""Validation of images: format, size and path."""

import hashlib
import io
import struct
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from PIL import Image

from builders.catalog.catalog_file import images
from builders.catalog.catalog_file.images import ImageRefused, ValidImage

FORMATS = {"png": "PNG", "jpg": "JPEG", "jpeg": "JPEG", "webp": "WEBP", "avif": "AVIF", "gif": "GIF", "ico": "ICO"}


def picture(image_format: str = "PNG", size: tuple[int, int] = (16, 12)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "navy").save(out, image_format, **({"sizes": [size]} if image_format == "ICO" else {}))
    return out.getvalue()


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG of a few bytes that declares any size."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b""))]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in [*chunks, (b"IEND", b"")]
    )
    return b"\x89PNG\r\n\x1a\n" + body


def refusal(folder: Path, name: str) -> str:
    with pytest.raises(ImageRefused) as refused:
        images.find(folder, name)
    return refused.value.code


def find(folder: Path, name: str) -> ValidImage:
    """Return an image that exists."""
    found = images.find(folder, name)
    assert found is not None
    return found


@pytest.mark.parametrize("extension", FORMATS)
def test_each_format_is_accepted_and_named_by_the_hash_of_its_content(tmp_path: Path, extension: str) -> None:
    content = picture(FORMATS[extension])
    (tmp_path / f"Logo.{extension.upper()}").write_bytes(content)
    found = find(tmp_path, f"Logo.{extension.upper()}")
    assert (found.width, found.height) == (16, 12)
    assert found.filename == f"{hashlib.sha256(content).hexdigest()}.{extension}"


def test_an_image_in_a_folder_below_is_found(tmp_path: Path) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "a.png").write_bytes(picture())
    assert find(tmp_path, "img/../img/a.png").width == 16


@pytest.mark.parametrize(
    "name", ["gone.png", "no/gone.png", "a\0b.png", f"{'x' * 300}.png", "\ud800.png", "dir.png"]
)
def test_a_path_without_a_file_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "dir.png").mkdir()
    assert images.find(tmp_path, name) is None


def test_a_loop_of_links_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to(tmp_path / "a.png")
    assert images.find(tmp_path, "a.png") is None


@pytest.mark.parametrize("name", ["../secret.png", "{folder}/secret.png", "link.png", "x/../../secret.png"])
def test_a_path_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    folder = tmp_path / "catalog"
    (folder / "x").mkdir(parents=True)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    assert refusal(folder, name.format(folder=tmp_path)) == "image_outside"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("a.html", b"<script>"),
        ("a", picture()),
        ("a.png", b"<svg onload=alert(1)>"),
        ("a.png", picture("JPEG")),
        ("a.jpg", picture("PNG")),
        ("a.gif", b"GIF89a"),
        ("a.png", b""),
    ],
)
def test_the_content_must_have_the_format_of_the_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert refusal(tmp_path, name) in {"image_type", "image_broken"}


@pytest.mark.parametrize(("width", "height"), [(4097, 1), (1, 4097), (60_000, 60_000), (2_000_000_000, 2)])
def test_a_decompression_bomb_is_refused(tmp_path: Path, width: int, height: int) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of_size(width, height))
    assert refusal(tmp_path, "bomb.png") in {"image_too_large", "image_broken"}


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "fat.png").write_bytes(picture() + b"\0" * images.MAX_BYTES)
    assert refusal(tmp_path, "fat.png") == "image_too_large"


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_damaged_image_is_accepted_or_refused_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, extension: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    content = bytearray(picture(FORMATS[extension]))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    (folder / f"damaged.{extension}").write_bytes(content[:cut])
    with suppress(ImageRefused):
        assert find(folder, f"damaged.{extension}").width <= images.MAX_SIDE


def test_an_image_is_stored_atomically_and_once(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    found = find(tmp_path, "a.png")
    assets = tmp_path / "assets"
    images.store(found, assets)
    images.store(found, assets)
    assert [path.name for path in assets.iterdir()] == [found.filename]
    assert (assets / found.filename).read_bytes() == picture()


def test_an_image_that_changed_since_its_validation_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    found = find(tmp_path, "a.png")
    (tmp_path / "a.png").write_bytes(picture(size=(17, 12)))
    with pytest.raises(ImageRefused, match="changed"):
        images.store(found, tmp_path / "assets")


@given(st.text(max_size=90))
def test_only_stored_names_are_found(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "plain.png").write_bytes(picture())
    assert images.stored(folder, name) is None
    assert images.stored(folder, "plain.png") is None

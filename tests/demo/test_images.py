import asyncio
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

from hypothesis import example, given, strategies as st
from PIL import Image, ImageChops

from builders.demo import images
from builders.demo.service import list_titles
from tests.random_cases import cases

HARBOUR = ("harbour.example", "Harbour")
MUNICH = ("xn--mnchen-3ya.example", "München")


def opened(png: bytes) -> Image.Image:
    image = Image.open(BytesIO(png))
    image.load()
    return image


def test_every_domain_of_the_catalog_has_a_logo_and_a_cover(demo_images: Path) -> None:
    names = {name(domain) for domain, _ in list_titles() for name in (images.logo_name, images.cover_name)}
    assert {path.name for path in demo_images.iterdir()} == names


def test_every_image_is_a_complete_png_of_the_expected_size(demo_images: Path) -> None:
    for path in demo_images.iterdir():
        is_logo = path.stem.endswith("-logo")
        image = opened(path.read_bytes())
        assert (image.format, image.size) == ("PNG", (256, 256) if is_logo else (1200, 630))
        assert path.stat().st_size < (40_000 if is_logo else 150_000), path.name


def names(folder: Path) -> list[str]:
    """Return the names of the files."""
    return sorted(each.name for each in folder.iterdir())


async def test_connections_are_served_between_the_images_of_two_domains(tmp_path: Path) -> None:
    drawing = asyncio.create_task(images.draw(tmp_path, [HARBOUR, MUNICH]))
    await asyncio.sleep(0)

    assert names(tmp_path) == [images.cover_name(HARBOUR[0]), images.logo_name(HARBOUR[0])]
    await drawing
    assert len(names(tmp_path)) == 4


def test_images_of_two_domains_differ(demo_images: Path) -> None:
    pictures = [path.read_bytes() for path in demo_images.iterdir()]
    assert len(set(pictures)) == len(pictures)


def test_paths_are_in_the_sequence_of_the_domains_logo_before_cover(tmp_path: Path) -> None:
    written = images.write_images(tmp_path, [MUNICH, HARBOUR])
    assert [path.name for path in written] == [
        "xn--mnchen-3ya-logo.png",
        "xn--mnchen-3ya-cover.png",
        "harbour-logo.png",
        "harbour-cover.png",
    ]


def test_drawing_is_deterministic(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in images.write_images(tmp_path, [HARBOUR])]
    assert [path.read_bytes() for path in images.write_images(tmp_path, [HARBOUR])] == first


def test_another_process_draws_the_same_bytes() -> None:
    program = (
        "import sys; from builders.demo import images; "
        f"sys.stdout.buffer.write(images.cover(*{HARBOUR!r}) + images.logo(*{HARBOUR!r}))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    drawn = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert drawn.stdout == images.cover(*HARBOUR) + images.logo(*HARBOUR)


def test_the_discs_depend_on_the_domain_and_the_text_on_the_title() -> None:
    cover = opened(images.cover(*HARBOUR))
    retitled = opened(images.cover(HARBOUR[0], "Haven"))
    box = ImageChops.difference(cover, retitled).getbbox()
    assert box is not None
    assert box[2] <= 600


def test_an_umlaut_is_drawn_with_its_diaeresis() -> None:
    plain = opened(images.cover(MUNICH[0], "Munchen"))
    box = ImageChops.difference(plain, opened(images.cover(*MUNICH))).getbbox()
    assert box is not None
    left, top, right, bottom = box
    assert right - left > 20  # two dots side by side
    assert bottom - top < 20  # no other difference


@example(label="a", title="\n")
@example(label="b", title="\u0301\u200b")
@cases(3)
@given(label=st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True), title=st.text(min_size=1, max_size=80))
def test_any_title_can_be_drawn(label: str, title: str) -> None:
    domain = f"{label}.example"
    assert opened(images.logo(domain, title)).size == images.LOGO_SIZE
    assert opened(images.cover(domain, title)).size == images.COVER_SIZE

"""The text of a file of unknown encoding, decoded while it is read."""

import codecs
import io
from collections.abc import Iterator

_BLOCK = 64 * 1024  # bytes that are decoded at once: another thread waits no longer than for one block
_SAMPLE = 4096  # bytes
MAX_LINE = 1_000_000  # characters
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
FALLBACK = "cp1252"  # of Windows programs; it decodes nearly any bytes
# Of 100 bytes at odd or even positions, how many are zero when Western text is UTF-16.
_ZERO_PERCENT = 40


def find_encoding(content: bytes) -> str:
    """Return the encoding by the byte order mark or zero bytes (UTF-16), else UTF-8 if valid, else cp1252."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return encoding
    sample = content[:_SAMPLE]
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        if zeros and zeros.count(0) * 100 >= len(zeros) * _ZERO_PERCENT:
            return encoding
    return "utf-8" if _is_utf8(content) else FALLBACK


def read_lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, decoded while they are read.

    Bytes that the encoding lacks become U+FFFD. A line over MAX_LINE characters is cut into several.
    """
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline="")
    return iter(lambda: text.readline(MAX_LINE), "")


def _is_utf8(content: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in _blocks(content):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _blocks(content: bytes) -> Iterator[memoryview]:
    view = memoryview(content)
    return (view[at : at + _BLOCK] for at in range(0, len(view), _BLOCK))

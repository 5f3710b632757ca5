"""Folding of names so that those which look alike become equal.

Every fold here replaces single characters, and the look-alike pairs are *expanded* (`m` becomes `rn`, as in
UTS 39) rather than contracted: contracting `vvv` gives `wv` or `vw` depending on where one starts, so three
strings that look the same would get two skeletons.
"""


def squash(text: str) -> str:
    """The text without its separators `.`, `-` and `_`."""
    return text.replace(".", "").replace("-", "").replace("_", "")


def skeleton(key: str) -> str:
    """What the eye keeps of a name: equal for names that can be mistaken for one another.

    Up to twice as long as the key, since `m` and `w` become two characters. Separators stay as they are.
    """
    # Chained replacements: measured at a third of the time of str.translate, which is slow once it expands.
    return key.replace("0", "o").replace("1", "l").replace("5", "s").replace("m", "rn").replace("w", "vv")


def unmask(text: str) -> str:
    """A wider skeleton, for words worth disguising: digits read as letters, `i` as `l`, `cl` as `d`.

    Too wide to keep customers apart (`ian` and `lan` are both people), but nobody needs `4dm1n` or `admln`.
    Whatever has the same `skeleton` is the same here too.
    """
    return (
        skeleton(text)
        .replace("i", "l")
        .replace("3", "e")
        .replace("4", "a")
        .replace("7", "t")
        .replace("8", "b")
        .replace("9", "g")
        .replace("d", "cl")
    )

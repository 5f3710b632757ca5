"""The folder of secrets: files named as settings, in lower case, such as `builders_database_url`.

systemd names it in the variable CREDENTIALS_DIRECTORY (systemd.exec(5), LoadCredential), and so does the image.
"""

from collections.abc import Collection
from pathlib import Path

FOLDER = "CREDENTIALS_DIRECTORY"
PREFIX = "builders_"  # other files of the folder are not read
OTHERS = 0o007  # the group may read: systemd and Kubernetes let the service read through it


def find(named: str | None, *, known: Collection[str]) -> Path | None:
    """Return the folder of secrets, None without one; `known` are the settings. Raise ValueError."""
    if not named:
        return None
    try:
        for file in sorted(each for each in Path(named).iterdir() if each.name.startswith(PREFIX)):
            if file.name.removeprefix(PREFIX) not in known:
                raise ValueError(f"{file} is named after no setting. Rename or remove it.")
            if file.stat().st_mode & OTHERS:
                raise ValueError(f"Other users may open {file}. Correct its mode: chmod 0400 {file}")
            file.read_bytes()
    except OSError as error:
        raise ValueError(f"{error.filename} of {FOLDER} cannot be read: {error.strerror}.") from None
    return Path(named)

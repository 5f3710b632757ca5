import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from builders.kit.process.files import written
from builders.kit.process.secret_keys import Keyring, Unsealable, generate_secret, load_or_create

OLD = "the-old-one_Zx81kQm4vR7tYb2nWc5dLh9sFg3jPe6aU0"
NEW = "the-new-one_Aq92wSx3eDc4rFv5tGb6yHn7uJm8iKl0oP"
old, new, both = Keyring([OLD]), Keyring([NEW]), Keyring([NEW, OLD])
some = st.binary(max_size=200)


def _altered(made: bytes) -> list[bytes]:
    """Each byte changed in turn, one byte less, one more."""
    flipped = [made[:i] + bytes([made[i] ^ 1]) + made[i + 1 :] for i in range(len(made))]
    return [*flipped, made[:-1], made[1:], made + b"\0", b""]


@given(some)
def test_a_signature_is_good_for_its_payload_and_purpose_only(payload: bytes) -> None:
    signature = new.sign("link", payload)
    assert len(signature) == 20
    assert new.verify("link", payload, signature)
    assert not new.verify("links", payload, signature)
    assert not new.verify("link", payload + b"\0", signature)


def test_no_byte_of_a_signature_can_change() -> None:
    signature = new.sign("link", b"payload")
    assert not any(new.verify("link", b"payload", wrong) for wrong in _altered(signature))


def test_signatures_are_valid_until_the_old_secret_is_removed() -> None:
    signature = old.sign("link", b"payload")
    assert both.verify("link", b"payload", signature)
    assert not new.verify("link", b"payload", signature)
    assert both.sign("link", b"payload") == new.sign("link", b"payload")


@given(some, some)
def test_a_sealed_value_can_be_unsealed(plaintext: bytes, context: bytes) -> None:
    sealed = new.seal("secret", plaintext, context=context)
    assert len(sealed) == len(plaintext) + 33
    assert new.unseal("secret", sealed, context=context) == plaintext


def test_the_key_id_shows_what_the_first_secret_sealed() -> None:
    sealed = both.seal("secret", b"x", context=b"")
    assert sealed.startswith(both.seal_header)
    assert both.seal_header == new.seal_header
    assert not old.seal("secret", b"x", context=b"").startswith(both.seal_header)


def test_sealing_twice_never_gives_the_same() -> None:
    assert new.seal("secret", b"x", context=b"") != new.seal("secret", b"x", context=b"")


def test_no_byte_of_a_sealed_value_can_change() -> None:
    for wrong in _altered(new.seal("secret", b"plaintext", context=b"row 1")):
        with pytest.raises(Unsealable):
            new.unseal("secret", wrong, context=b"row 1")


@pytest.mark.parametrize(("purpose", "context"), [("secret", b"row 2"), ("secrets", b"row 1"), ("secret", b"")])
def test_a_sealed_value_opens_only_for_its_purpose_and_context(purpose: str, context: bytes) -> None:
    sealed = new.seal("secret", b"plaintext", context=b"row 1")
    with pytest.raises(Unsealable, match="altered, or sealed for another"):
        new.unseal(purpose, sealed, context=context)


def test_a_sealed_value_of_an_unknown_secret_names_its_key() -> None:
    with pytest.raises(Unsealable, match=r"does not have the key [0-9a-f]{8}"):
        new.unseal("secret", old.seal("secret", b"plaintext", context=b""), context=b"")


def test_after_a_rotation_old_values_open_and_are_marked_for_resealing() -> None:
    sealed = old.seal("secret", b"plaintext", context=b"")
    assert not old.needs_reseal(sealed)
    assert both.needs_reseal(sealed)
    again = both.seal("secret", both.unseal("secret", sealed, context=b""), context=b"")
    assert not both.needs_reseal(again)
    assert new.unseal("secret", again, context=b"") == b"plaintext"


def test_a_token_is_found_under_the_hash_of_each_secret() -> None:
    stored = old.hash_token("confirm", "token")
    assert stored in both.hashes("confirm", "token")
    assert both.hash_token("confirm", "token") == both.hashes("confirm", "token")[0]
    assert stored not in both.hashes("invite", "token")
    assert stored not in both.hashes("confirm", "other")
    assert stored not in new.hashes("confirm", "token")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_can_be_tried_as_a_token(token: str) -> None:
    assert len(new.hash_token("confirm", token)) == 32


def test_one_purpose_has_different_keys_for_different_uses() -> None:
    assert new.sign("same", b"text")[4:] != new.hash_token("same", "text")[:16]


def test_a_keyring_shows_key_ids_and_no_secret() -> None:
    shown = repr(both)
    key_ids = [ring.sign("any", b"")[:4].hex() for ring in (new, old)]
    assert shown == f"Keyring({', '.join(key_ids)})"
    assert not hasattr(both, "__dict__")
    assert OLD not in shown + repr(both._by_id)


def test_the_same_secret_twice_counts_once() -> None:
    assert repr(Keyring([NEW, NEW])) == repr(new)


@pytest.mark.parametrize(
    "weak",
    ["", "xyz", "a" * 64, "ab" * 40, "0123456789abcdef" * 3, OLD + " " + OLD, OLD + "\n", OLD + "\u00e9"],
)
def test_a_weak_secret_is_refused_without_being_shown(weak: str) -> None:
    with pytest.raises(ValueError, match="A secret key is") as refused:
        Keyring([NEW, weak])
    assert not weak or weak not in str(refused.value)
    assert NEW not in str(refused.value)


def test_a_keyring_needs_a_list_of_secrets() -> None:
    with pytest.raises(ValueError, match="a list of at least one secret"):
        Keyring([])
    with pytest.raises(ValueError, match="a list of at least one secret"):
        Keyring(NEW)


def test_generated_secrets_are_strong_and_new_each_time() -> None:
    made = {generate_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(Keyring([secret]) for secret in made)


def test_a_missing_file_is_created_private_and_reused(tmp_path: Path) -> None:
    path = tmp_path / "secret-keys"
    made = load_or_create(path)
    assert len(made) == 1
    assert load_or_create(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_first_line_of_the_file_signs(tmp_path: Path) -> None:
    path = tmp_path / "secret-keys"
    path.write_text(f"# since May\n{NEW}\n\n  {OLD}  \n", encoding="utf-8")
    assert load_or_create(path) == [NEW, OLD]


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "short\n", f"{NEW}\nshort\n"])
def test_a_file_without_strong_secrets_is_refused_and_not_changed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secret-keys"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="secret key") as refused:
        load_or_create(path)
    assert path.read_text(encoding="utf-8") == text
    assert NEW not in str(refused.value)


def test_a_file_created_by_another_process_is_used(tmp_path: Path) -> None:
    path = tmp_path / "secret-keys"
    for secret in (NEW, OLD):
        with written(path, replaces=False) as file:
            file.write(f"{secret}\n")
    assert load_or_create(path) == [NEW]
    assert list(tmp_path.iterdir()) == [path]


def test_processes_that_start_at_once_read_the_same_secret(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from builders.kit.process.secret_keys import load_or_create\n"
        "print('ready', flush=True); sys.stdin.read(); print(load_or_create(Path(sys.argv[1])))"
    )
    path = tmp_path / "secret-keys"
    command = [sys.executable, "-c", program, str(path)]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    waiting_end, opener = os.pipe()  # all wait for the end of the same input, so all go together
    with os.fdopen(waiting_end) as waiting:
        started = [
            subprocess.Popen(command, stdin=waiting, stdout=subprocess.PIPE, text=True, env=environment)
            for _ in range(4)
        ]
        assert [process.stdout.readline() for process in started if process.stdout] == ["ready\n"] * 4
        os.close(opener)
        answers = {process.communicate()[0] for process in started}
    assert answers == {f"{load_or_create(path)}\n"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_no_file_and_is_said(tmp_path: Path) -> None:
    # The limit of a file's size fails as a full disk does: in the write, after the file is made.
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from builders.cli.session import read_keyring, read_settings; read_keyring(read_settings())"
    )
    environment = {**os.environ, "BUILDERS_DATA_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert f"Cannot store the secret keys in {tmp_path}: File too large. Set BUILDERS_DATA_DIR." in run.stderr
    assert list(tmp_path.iterdir()) == []

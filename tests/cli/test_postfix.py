from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_the_files_of_the_mail_server_have_the_values_of_this_installation(
    command: Cli, plain_environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = command("postfix", "config", "--root", tmp_path, "--host", "mx1.builders.example")
    assert (missing.exit_code, "BUILDERS_LOOKUP_LISTEN" in missing.stderr) == (1, True)
    plain_environment.setenv("BUILDERS_LOOKUP_LISTEN", "[::1]:9470")
    plain_environment.setenv("BUILDERS_FILTER_LISTEN", "unix:/run/builders/filter")
    plain_environment.setenv("BUILDERS_MAIL_HOSTS", "mx1.builders.example")
    plain_environment.setenv("BUILDERS_POSTMASTER", "ops@vendor.example")
    written = [Path(line) for line in command("postfix", "config", "--root", tmp_path).stdout.split()]
    assert tmp_path / "etc/postfix/master.cf" in written
    texts = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in written}
    main = texts["etc/postfix/main.cf"]
    assert "virtual_alias_domains = socketmap:inet:[::1]:9470:domain\n" in main
    assert "{ postmaster@mx1.builders.example = ops@vendor.example }" in main
    assert "{ filter.invalid = filter:unix:/run/builders/filter }" in main
    assert "SRS_DOMAIN=mx1.builders.example\n" in texts["etc/default/postsrsd"]
    assert not any("<<" in text for text in texts.values())

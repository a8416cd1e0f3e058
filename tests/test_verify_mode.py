"""ARCHBUILD_VERIFY: how much a build is checked."""

from __future__ import annotations

import pytest

from archbuild.build.verify_mode import VerifyMode, parse_verify_mode
from archbuild.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, VerifyMode.AUTO),
        ("", VerifyMode.AUTO),
        ("  ", VerifyMode.AUTO),
        ("auto", VerifyMode.AUTO),
        (" Require\n", VerifyMode.REQUIRE),
        ("OFF", VerifyMode.OFF),
    ],
)
def test_the_mode(text: str | None, expected: VerifyMode) -> None:
    assert parse_verify_mode(text) is expected


@pytest.mark.parametrize("text", ["0", "no", "requires", "require off"])
def test_a_mode_that_is_none_is_never_taken_for_off(text: str) -> None:
    with pytest.raises(UsageError, match=f"ARCHBUILD_VERIFY is '{text}'.*require, auto or off"):
        parse_verify_mode(text)

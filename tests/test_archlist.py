"""The grammar of architecture lists: all of its table, and every way to get it wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archbuild.errors import ArchListError
from archbuild.facts.architectures import GENERATIONS
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.rules.selecting.archlist import (
    ArchItem,
    Word,
    parse_arch_list,
    render_arch_list,
    targets_of,
)

capabilities = st.builds(ComputeCapability, st.integers(2, 99), st.integers(0, 9))
archs = st.builds(
    Arch, st.sampled_from([Stage.REAL, Stage.VIRTUAL]), capabilities, st.sampled_from(Suffix)
)


def _names(text: str) -> str:
    """The targets of each item, in the order in which they were typed."""
    items = parse_arch_list(text)
    return "; ".join(" ".join(str(target) for target in item.targets) for item in items)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        # SASS alone.
        ("9.0", "sm_90"),
        ("90", "sm_90"),
        ("sm_90", "sm_90"),
        ("90-real", "sm_90"),
        ("9.0a", "sm_90a"),
        ("90a", "sm_90a"),
        ("sm_90a", "sm_90a"),
        ("90a-real", "sm_90a"),
        ("12.0f", "sm_120f"),
        ("sm_120f", "sm_120f"),
        ("120f-real", "sm_120f"),
        ("120", "sm_120"),
        ("12.0", "sm_120"),
        ("12.1", "sm_121"),
        ("100", "sm_100"),
        ("75", "sm_75"),
        # The table of capabilities may be old, and nvcc decides.
        ("15.3", "sm_153"),
        ("153", "sm_153"),
        ("20.0", "sm_200"),
        # PTX alone.
        ("compute_90", "compute_90"),
        ("90-virtual", "compute_90"),
        ("compute_90a", "compute_90a"),
        ("120f-virtual", "compute_120f"),
        # Both: PTX of exactly that.
        ("9.0+PTX", "sm_90 compute_90"),
        ("90+PTX", "sm_90 compute_90"),
        ("sm_90+PTX", "sm_90 compute_90"),
        ("9.0a+PTX", "sm_90a compute_90a"),
        ("12.0f+PTX", "sm_120f compute_120f"),
        # Generations, as torch expands them.
        ("Ampere", "sm_80 sm_86 compute_86"),
        ("Ampere+PTX", "sm_80 sm_86 compute_86"),
        ("Hopper+PTX", "sm_90 compute_90"),
        ("Volta+Tegra", "sm_72"),
        ("Ampere+Tegra", "sm_87"),
        ("Ampere+Tegra+PTX", "sm_87 compute_87"),
        ("Blackwell", "sm_100 sm_103 sm_120 sm_121 compute_121"),
        # Products.
        ("RTX 4090", "sm_89"),
        ("RTX 4090+PTX", "sm_89 compute_89"),
        ("RTX 4090 +PTX", "sm_89 compute_89"),
        ("NVIDIA GeForce RTX 4090", "sm_89"),
        ("H100", "sm_90"),
        ("H100+PTX", "sm_90 compute_90"),
        ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("Jetson AGX Orin", "sm_87"),
        # Any case.
        ("SM_90A", "sm_90a"),
        ("Compute_90", "compute_90"),
        ("9.0A+ptx", "sm_90a compute_90a"),
        ("90-REAL", "sm_90"),
        ("hOPPER", "sm_90 compute_90"),
        ("rtx 4090", "sm_89"),
    ],
)
def test_one_item(text: str, targets: str) -> None:
    assert _names(text) == targets
    assert [item.text for item in parse_arch_list(f" {text} ;")] == [text]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("8.6;9.0", "sm_86; sm_90"),
        ("8.6,9.0", "sm_86; sm_90"),
        ("8.6 9.0", "sm_86; sm_90"),
        ("8.6\t9.0\n", "sm_86; sm_90"),
        (" ;; 8.6 ,, 9.0; ", "sm_86; sm_90"),
        ("8.6;", "sm_86"),
        ("9.0a, sm_120f;10.1", "sm_90a; sm_120f; sm_101"),
        ("8.0+PTX;9.0", "sm_80 compute_80; sm_90"),
        ("8.6 8.6", "sm_86; sm_86"),
        ("H100 A100", "sm_90; sm_80"),
        ("9.0 L4", "sm_90; sm_89"),
        ("RTX 4090, 9.0, H100", "sm_89; sm_90; sm_90"),
        ("9.0 compute_90", "sm_90; compute_90"),
        ("Ampere 9.0", "sm_80 sm_86 compute_86; sm_90"),
        # Plain and f together is for nvcc to refuse, and for whoever asks it.
        ("10.0;10.0f", "sm_100; sm_100f"),
        # Blanks that come along when a list is pasted from a web page.
        ("8.6\N{NO-BREAK SPACE}9.0", "sm_86; sm_90"),
    ],
)
def test_several_items(text: str, targets: str) -> None:
    assert _names(text) == targets


@pytest.mark.parametrize("word", list(Word))
@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.title])
def test_a_word_stands_for_what_others_decide(word: Word, spelling: type[str]) -> None:
    text = spelling(word.value)
    assert parse_arch_list(text) == (ArchItem(text, (), word),)
    assert parse_arch_list(f"{text}+ptx") == (ArchItem(f"{text}+ptx", (), word, ptx=True),)
    assert parse_arch_list(f"{text} 9.0")[0].word is word


def test_the_items_keep_their_order_and_the_targets_have_their_own() -> None:
    items = parse_arch_list("compute_90; native; 12.0; 8.6; 9.0; 8.6; 9.0a")
    assert len(items) == 7
    names = [str(target) for target in targets_of(items)]
    assert names == ["sm_86", "sm_90", "sm_90a", "compute_90", "sm_120"]


@pytest.mark.parametrize("row", GENERATIONS, ids=lambda row: row.name)
def test_every_generation_can_be_written(row) -> None:  # type: ignore[no-untyped-def]
    assert parse_arch_list(row.name)[0].targets == row.expansion
    with_ptx = parse_arch_list(f"{row.name}+PTX")[0].targets
    assert with_ptx[: len(row.expansion)] == row.expansion
    assert with_ptx[-1].is_virtual


@pytest.mark.parametrize(
    ("text", "piece", "cure"),
    [
        # A bare major shows both readings.
        ("9", "9", "9.0"),
        ("8.6;12", "12", "12.0"),
        ("sm_12", "sm_12", "12.0"),
        ("12a", "12a", "12.0"),
        ("10", "10", "10.0"),
        ("compute_9", "compute_9", "9.0"),
        # No architecture at all.
        ("sm_1", "sm_1", "sm_90"),
        ("0", "0", "9.0"),
        ("05", "05", "9.0"),
        ("0.9", "0.9", "9.0"),
        ("09.0", "09.0", "9.0"),
        ("1.2", "1.2", "9.0"),
        ("9.05", "9.05", "9.0"),
        ("9.", "9.", "9.0"),
        ("1200", "1200", "9.0"),
        ("100.0", "100.0", "9.0"),
        ("sm_90b", "sm_90b", "9.0"),
        ("9.0x", "9.0x", "9.0"),
        ("-9.0", "-9.0", "sm_90"),
        # Nearly right.
        ("sm90", "sm90", "sm_90"),
        ("sm-90a", "sm-90a", "sm_90a"),
        ("sm_9.0", "sm_9.0", "sm_90"),
        ("compute_9.0", "compute_9.0", "compute_90"),
        ("cc90", "cc90", "sm_90"),
        ("sm_90-real", "sm_90-real", "sm_90"),
        # +PTX where it can mean nothing.
        ("compute_90+PTX", "compute_90+PTX", "9.0+PTX"),
        ("90-real+PTX", "90-real+PTX", "9.0+PTX"),
        ("90-virtual+ptx", "90-virtual+ptx", "9.0+PTX"),
        ("9.0+PTX+PTX", "9.0+PTX+PTX", "9.0+PTX"),
        ("9.0 +PTX", "+PTX", "9.0+PTX"),
        # Other kinds of things.
        ("gfx90a", "gfx90a", "PYTORCH_ROCM_ARCH"),
        ("9.0;gfx942:sramecc+", "gfx942:sramecc+", "PYTORCH_ROCM_ARCH"),
        ("lto_90", "lto_90", "-gencode"),
        # Names.
        ("Hoper", "Hoper", "Hopper"),
        ("Ampere+", "Ampere+", "Ampere"),
        ("all_major", "all_major", "all-major"),
        ("nativ", "nativ", "native"),
        ("RTX 4091", "RTX 4091", "GeForce RTX 4090"),
        ("9.0; Gefroce RTX 4090", "Gefroce RTX 4090", "GeForce RTX 4090"),
        ("4090", "4090", "GeForce RTX 4090"),
        ("Pascal+Tegra", "Pascal+Tegra", "6.2"),
        ("Turing+Tegra", "Turing+Tegra", "Turing"),
        ("GT 730", "GT 730", "number"),
        ("GT 730+PTX", "GT 730+PTX", "number"),
        ("quokka", "quokka", "9.0"),
        # Separators that are none.
        ("'8.6'", "'8.6'", "Write 8.6 without"),
        ('8.6;"9.0+PTX"', '"9.0+PTX"', "Write 9.0+PTX without"),
        ("8.6:9.0", "8.6:9.0", ";"),
        ("8.6/9.0", "8.6/9.0", ";"),
        ("8.6|9.0", "8.6|9.0", ";"),
        ("RTX 4090 9.0", "RTX 4090 9.0", "RTX 4090; 9.0"),
        ("GTX 1080 RTX 4090", "GTX 1080 RTX 4090", "GTX 1080; RTX 4090"),
        ("9.0 RTX 4090 H100", "9.0 RTX 4090 H100", "9.0; RTX 4090; H100"),
    ],
)
def test_a_bad_piece_is_quoted_with_its_cure(text: str, piece: str, cure: str) -> None:
    with pytest.raises(ArchListError) as caught:
        parse_arch_list(text, "ARCHBUILD_ARCHS")
    assert f"{piece!r} in ARCHBUILD_ARCHS" in caught.value.message
    assert cure in caught.value.advice
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "readings"), [("9", ("9.0", "0.9")), ("12", ("12.0", "1.2")), ("10", ("10.0", "1.0"))]
)
def test_a_bare_major_shows_both_readings(text: str, readings: tuple[str, str]) -> None:
    with pytest.raises(ArchListError) as caught:
        parse_arch_list(text)
    assert all(re.search(rf"\b{re.escape(r)}\b", caught.value.message) for r in readings)


def test_a_bare_major_of_several_numbers_lists_them() -> None:
    with pytest.raises(ArchListError, match=r"8\.0, 8\.6, 8\.7, 8\.8, 8\.9"):
        parse_arch_list("8")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("GT 730", "2.1, 3.0 and 3.5"),
        ("GTX 860M", "3.0 and 5.0"),
        ("TITAN X", "5.2 and 6.1"),
        ("RTX 6000", "7.5 and 8.9"),
    ],
)
def test_an_ambiguous_product_lists_its_capabilities(text: str, numbers: str) -> None:
    with pytest.raises(ArchListError, match=re.escape(numbers)):
        parse_arch_list(f"9.0; {text}")


@pytest.mark.parametrize("text", ["", " ", ";", ",", " ; , ;;", "\n"])
def test_a_list_without_an_item_is_an_error(text: str) -> None:
    with pytest.raises(ArchListError, match=r"^No architecture stands in TORCH_CUDA_ARCH_LIST: "):
        parse_arch_list(text, "TORCH_CUDA_ARCH_LIST")


@pytest.mark.parametrize(
    ("character", "plain"),
    [
        ("\N{FULLWIDTH SEMICOLON}", "';'"),
        ("\N{FULLWIDTH COMMA}", "','"),
        ("\N{IDEOGRAPHIC COMMA}", "','"),
        ("\N{ARABIC SEMICOLON}", "';'"),
        ("\N{GREEK QUESTION MARK}", "';'"),
        ("\N{FULLWIDTH DIGIT NINE}", "'9'"),
        ("\N{FULLWIDTH PLUS SIGN}", "'+'"),
        ("\N{ZERO WIDTH SPACE}", "Leave it out"),
        ("\N{BULLET}", "Leave it out"),
        ("é", "Leave it out"),
    ],
)
def test_a_character_that_only_looks_right_is_named(character: str, plain: str) -> None:
    with pytest.raises(ArchListError) as caught:
        parse_arch_list(f"8.6{character}9.0", "--arch")
    assert f"U+{ord(character):04X}" in caught.value.message
    assert f"'8.6{character}9.0' in --arch"[:4] in caught.value.message
    assert plain in caught.value.advice


def test_a_long_piece_is_quoted_short() -> None:
    with pytest.raises(ArchListError) as caught:
        parse_arch_list("x" * 100_000)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("9.0 compute_90", "9.0+PTX"),
        ("compute_90; sm_86; sm_90", "8.6;9.0+PTX"),
        ("compute_120 9.0a 8.6", "8.6;9.0a;compute_120"),
        ("9.0 compute_90a", "9.0;compute_90a"),
        ("9.0a+PTX; 9.0", "9.0;9.0a+PTX"),
        ("Ampere", "8.0;8.6+PTX"),
        ("RTX 4090, H100+PTX", "8.9;9.0+PTX"),
        ("10.0 10.0f 10.0a", "10.0;10.0f;10.0a"),
        ("native", ""),
    ],
)
def test_targets_have_one_spelling(text: str, rendered: str) -> None:
    assert render_arch_list(targets_of(parse_arch_list(text))) == rendered


def test_ltoir_has_no_spelling() -> None:
    with pytest.raises(ValueError, match="LTO-IR"):
        render_arch_list([Arch.parse("lto_90")])


@given(st.lists(archs, min_size=1, max_size=8))
def test_what_is_written_reads_back(targets: list[Arch]) -> None:
    text = render_arch_list(targets)
    assert targets_of(parse_arch_list(text)) == tuple(sorted(set(targets)))
    assert render_arch_list(targets_of(parse_arch_list(text))) == text


_PIECES = st.one_of(
    st.sampled_from(["9.0", "90", "sm_90", "90a-real", "compute_90", "9.0+PTX", "Ampere", "H100"]),
    st.sampled_from(["RTX 4090", "RTX 4090+PTX", "Jetson Orin", "native", "all-major", "12", "GT"]),
    st.text("0123456789.smcoputeafPTX+-_ ", max_size=9),
)
_TYPED = st.lists(st.tuples(_PIECES, st.sampled_from([";", ",", " ", "; "])), max_size=6).map(
    lambda pairs: "".join(piece + separator for piece, separator in pairs)
)


@given(_TYPED | st.text(max_size=60))
@example("9.0\N{EM QUAD}8.6")
@example("\x00")
@example("+PTX")
@example("-real")
@example("\udc80")
@example("a" * 5000 + " 9")
@example("9" * 5000)
def test_any_text_is_a_list_or_an_arch_list_error(text: str) -> None:
    try:
        items = parse_arch_list(text)
    except ArchListError as error:
        told = error.message.endswith(".") and bool(error.advice)
        items = () if told else None
    if items == ():
        return
    assert items
    assert all((item.word is None) == bool(item.targets) for item in items)
    targets = targets_of(items)
    if targets:
        assert targets_of(parse_arch_list(render_arch_list(targets))) == targets

"""Names of products: found whole or not at all, with every chip that bears them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts import products
from archbuild.facts.architectures import CAPABILITIES
from archbuild.facts.products import PRODUCTS, find_pci_row, find_product, similar_products


def _found(text: str) -> list[str]:
    product = find_product(text)
    return [str(capability) for capability in product.capabilities] if product else []


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        # Traps for whoever goes by the series.
        ("RTX 2050", "8.6"),
        ("GeForce MX450", "7.5"),
        ("MX550", "7.5"),
        ("MX570", "8.6"),
        ("GeForce RTX 3050 A Laptop GPU", "8.9"),
        ("RTX 3050 Laptop GPU", "8.6"),
        ("GTX 750", "5.0"),
        ("GTX 750 v2", "5.2"),
        ("GTX 960M", "5.0"),
        ("GTX 965M", "5.2"),
        ("GTX 1080", "6.1"),
        ("GTX 1650", "7.5"),
        ("Titan V", "7.0"),
        ("TITAN Xp", "6.1"),
        ("NVIDIA TITAN X (Pascal)", "6.1"),
        ("GeForce GTX TITAN X", "5.2"),
        ("TITAN RTX", "7.5"),
        ("Quadro M2000", "5.2"),
        ("Quadro M2000M", "5.0"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("RTX PRO 6000", "12.0"),
        ("RTX A6000", "8.6"),
        ("A100X", "8.0"),
        ("T4G", "7.5"),
        ("Tesla M6", "5.2"),
        ("Quadro M6000", "5.2"),
        ("Quadro GP100", "6.0"),
        ("Tesla P40", "6.1"),
        # As NVML names them.
        ("NVIDIA GeForce RTX 4090", "8.9"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "8.6"),
        ("GeForce GTX 1080 with Max-Q Design", "6.1"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H100 PCIe", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA A30", "8.0"),
        ("NVIDIA A10G", "8.6"),
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("Tesla P100-PCIE-16GB", "6.0"),
        ("Tesla K80", "3.7"),
        ("Tesla T4", "7.5"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40S", "8.9"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("NVIDIA GB200", "10.0"),
        ("NVIDIA GB300", "10.3"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0"),
        ("Orin", "8.7"),
        ("NVIDIA Thor", "11.0"),
        # As people write them.
        ("h100", "9.0"),
        ("rtx4090", "8.9"),
        ("rtx-4090", "8.9"),
        ("  RTX   4090 ", "8.9"),
        ("RTX 3090Ti", "8.6"),
        ("Tesla A100", "8.0"),
        ("DGX Spark", "12.1"),
        ("Jetson AGX Orin", "8.7"),
        ("GTX 1060", "6.1"),
        ("A6000", "8.6"),
        ("RTX 5090", "12.0"),
        ("P100", "6.0"),
        ("V100", "7.0"),
    ],
)
def test_a_product_is_found(name: str, capability: str) -> None:
    assert _found(name) == [capability]


@pytest.mark.parametrize(
    ("name", "capabilities"),
    [
        ("GT 730", ["2.1", "3.0", "3.5"]),
        ("GeForce GTX 860M", ["3.0", "5.0"]),
        ("TITAN X", ["5.2", "6.1"]),
        # NVIDIA dropped "Quadro" from Turing's number and used it again.
        ("RTX 6000", ["7.5", "8.9"]),
        ("NVIDIA RTX 4000", ["7.5", "8.9"]),
        ("GeForce RTX 6000", ["7.5", "8.9"]),
    ],
)
def test_a_name_of_several_chips_has_all_their_capabilities(
    name: str, capabilities: list[str]
) -> None:
    assert _found(name) == capabilities


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        "NVIDIA",
        "GeForce",
        "Quadro",
        "RTX",
        "RTX 40",
        "RTX 4091",
        "RTX 4090 Tj",
        "H10",
    ],
)
def test_part_of_a_name_is_no_name(text: str) -> None:
    assert find_product(text) is None


@pytest.mark.parametrize(
    "text", ["H1000", "H100 A100", "RTX 4090é", "4090", "410", "820M", "710A", "RX 7900", "90"]
)
def test_no_name_is_guessed(text: str) -> None:
    assert find_product(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RTX 409", "GeForce RTX 4090"),
        ("4090", "GeForce RTX 4090"),
        ("Gefroce RTX 4090", "GeForce RTX 4090"),
        ("GTX 1080Tj", "GeForce GTX 1080 Ti"),
        ("H10", "H100"),
        ("A100-SXM4-40", "A100 SXM4"),
    ],
)
def test_a_misspelt_name_brings_the_nearest(text: str, name: str) -> None:
    assert name in similar_products(text)


@given(st.text(max_size=200))
def test_any_text_has_at_most_three_similar_names(text: str) -> None:
    names = similar_products(text)
    assert len(names) <= 3
    assert all(find_product(name) for name in names)


def test_every_row_is_found_and_holds_what_it_says() -> None:
    for row in PRODUCTS:
        product = find_product(row.name)
        assert product is not None, row.name
        assert set(row.capabilities) <= set(product.capabilities), row.name


def test_a_row_adds_to_pci_ids_only_where_it_says_why() -> None:
    """Our rows and pci.ids agree, but for names that Fermi chips bear as well."""
    from_pci: dict[str, set[str]] = {}
    for device in products._pci_rows().values():
        for name in products._spellings(device.name or "?"):
            from_pci.setdefault(products._key(name), set()).add(str(device.capability))
    for row in PRODUCTS:
        known = from_pci.get(products._key(row.name))
        ours = {str(capability) for capability in row.capabilities}
        assert known is None or ours in (known, {"2.1"}), row.name


def test_no_row_is_written_twice() -> None:
    keys = [products._key(row.name) for row in PRODUCTS]
    assert sorted(keys) == sorted(set(keys))


def test_a_brand_is_left_out_only_where_nothing_is_merged_unseen() -> None:
    """Without its brand a name has every capability that it has with any brand."""
    index = products._index()
    for key, product in index.full.items():
        short = products._without_brand(key)
        if short != key and short[:1].isalpha():
            found = find_product(short)
            assert found is not None
            assert set(product.capabilities) <= set(found.capabilities), product.name


def test_two_names_side_by_side_mean_no_more_than_both() -> None:
    index = products._index()
    keys = {**index.bare, **index.full}
    for whole, product in keys.items():
        splits = [(whole[:i], whole[i:]) for i in range(1, len(whole))]
        for one, other in splits:
            if one in keys and other in keys:
                both = {*keys[one].capabilities, *keys[other].capabilities}
                assert both == set(product.capabilities), whole


def test_no_name_could_be_a_number() -> None:
    index = products._index()
    number = re.compile(r"\d+[af]?|(sm|compute|lto)\d+[af]?|native|all|allmajor")
    assert not [key for key in (*index.full, *index.bare) if number.fullmatch(key)]


def test_every_capability_is_known_but_fermi() -> None:
    known = {str(row.capability) for row in CAPABILITIES}
    named = {str(c) for product in products._index().full.values() for c in product.capabilities}
    assert named - known == {"2.1"}


def test_chips_and_capabilities_agree_with_pci() -> None:
    chips = {chip: row.capability for row in CAPABILITIES for chip in row.chips}
    for row in products._pci_rows().values():
        assert chips[row.chip] == row.capability, row


def test_a_pci_device_is_found_by_its_number() -> None:
    row = find_pci_row(0x2684)
    assert row is not None
    assert (row.chip, str(row.capability), row.name) == ("AD102", "8.9", "GeForce RTX 4090")
    assert find_pci_row(0) is None


def test_a_chip_alone_is_no_name() -> None:
    assert any(row.name is None for row in products._pci_rows().values())
    assert find_product("GA100") is None


def test_importing_reads_no_table() -> None:
    code = "from archbuild.facts import products as p; print(p._index.cache_info().currsize)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "0"

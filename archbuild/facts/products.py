"""Names of products, and the compute capabilities that stand behind them.

A name is looked up whole, never by a pattern or a prefix: RTX 2050 is 8.6,
MX550 is 7.5, and GTX 860M is two chips. Case, blanks and hyphens don't count,
nor does NVIDIA in front; GeForce, Tesla or Quadro may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from archbuild.model.arch import ComputeCapability


@dataclass(frozen=True)
class Product:
    """A product as a person named it.

    Args:
        name: The name as the table spells it.
        capabilities: Upwards; several where different chips bear the name.
    """

    name: str
    capabilities: tuple[ComputeCapability, ...]


@dataclass(frozen=True)
class ProductRow:
    """A name that pci.ids lacks, or that means more than pci.ids says.

    Args:
        name: The name.
        capabilities: What it can be, besides what pci.ids says of this name.
        source: Where it is written.
        date: When it was read there.
    """

    name: str
    capabilities: tuple[ComputeCapability, ...]
    source: str
    date: date


@dataclass(frozen=True)
class PciRow:
    """One PCI device of NVIDIA.

    Args:
        device: The PCI device id.
        chip: ``GH100``.
        capability: Its compute capability.
        name: The product's name, None where pci.ids names only the chip.
    """

    device: int
    chip: str
    capability: ComputeCapability
    name: str | None


_GPU_LISTS = "NVIDIA's lists of CUDA GPUs; spelled as NVML does, too"
_PCI_IDS = "pci.ids, where a Fermi chip (2.1) bears this name as well"
_REUSED = "NVIDIA's lists of CUDA GPUs: a Quadro and a later RTX share the number"


def _rows(capabilities: str, names: str, source: str = _GPU_LISTS) -> tuple[ProductRow, ...]:
    """One row for each of several names, which stand between commas."""
    found = tuple(ComputeCapability.parse(number) for number in capabilities.split())
    return tuple(
        ProductRow(name.strip(), found, source, date(2026, 11, 30)) for name in names.split(",")
    )


PRODUCTS = (
    # Data centres.
    *_rows("3.5", "Tesla K20, Tesla K20X, Tesla K40"),
    *_rows("5.2", "Tesla M40 24GB"),
    *_rows("6.0", "Tesla P100, Tesla P100 PCIe, Tesla P100-PCIE-12GB, Tesla P100-PCIE-16GB"),
    *_rows("6.0", "Tesla P100 SXM2"),
    *_rows("7.0", "Tesla V100, Tesla V100 PCIe, Tesla V100-PCIE-16GB, Tesla V100-PCIE-32GB"),
    *_rows("7.0", "Tesla V100 SXM2, Tesla V100 SXM3, Tesla V100S, Tesla V100S-PCIE-32GB"),
    *_rows("7.5", "Tesla T10, T40"),
    *_rows("8.0", "A100, A100 40GB, A100 80GB, A100 PCIe, A100 SXM, A100 SXM4, A100-PCIE-40GB"),
    *_rows("8.0", "A100 80GB PCIe, A100-PCIE-80GB, A30, A30 PCIe, DGX A100"),
    *_rows("8.0", "A800, A800 40GB Active, A800 80GB PCIe, A800 PCIe, A800 SXM4, AX800"),
    *_rows("8.6", "A2, A10, A10G, A10 PCIe, A16, A40, A40 PCIe"),
    *_rows("8.9", "L2, L4, L20, L40, L40S"),
    *_rows("9.0", "H20, H100, H800, H200 NVL"),
    *_rows("9.0", "H100 80GB, H100 80GB HBM2e, H100 80GB HBM3, H100 64GB HBM2e, H100 96GB HBM3"),
    *_rows("9.0", "H100 PCIe, H100 SXM, H100 SXM5, H100 NVL, H100L, DGX H100"),
    *_rows("9.0", "H200, H200 141GB, H200 SXM, H200 SXM5, DGX H200, H800 PCIe, H800 SXM5"),
    *_rows("9.0", "GH200, GH200 96GB, GH200 96GB HBM3, GH200 120GB, GH200 144GB, GH200 480GB"),
    *_rows("10.0", "B100, B200, B200 SXM6, GB200, HGX B200, DGX B200, GB200 NVL72"),
    *_rows("10.3", "B300, B300 SXM6, GB300, HGX B300, DGX B300, GB300 NVL72"),
    # Workstations.
    *_rows("5.0", "Quadro K620M, Quadro M500M"),
    *_rows("5.2", "Quadro M5000M, Quadro M5000 SE"),
    *_rows(
        "7.5", "Quadro RTX 3000, Quadro RTX 6000, Quadro RTX 8000, T400, T400 4GB, T400E, T1000"
    ),
    *_rows("7.5 8.9", "RTX 3000, RTX 4000, RTX 5000, RTX 6000", _REUSED),
    *_rows("8.6", "A2000, A4000, A4500, A5000, A5500, A6000"),
    *_rows("8.9", "RTX 6000 Ada, RTX 5880 Ada, RTX 5000 Ada, RTX 4500 Ada, RTX 4000 Ada"),
    *_rows("8.9", "RTX 4000 SFF Ada, RTX 2000 Ada, RTX 2000 Ada Generation"),
    *_rows("8.9", "RTX 2000E Ada Generation"),
    *_rows("12.0", "RTX PRO 6000 Blackwell, RTX PRO 6000D Blackwell, RTX PRO 5000 Blackwell"),
    *_rows("12.0", "RTX PRO 5000 72GB Blackwell, RTX PRO 6000, RTX PRO 5000, RTX PRO 4500"),
    *_rows("12.0", "RTX PRO 4000, RTX PRO 2000, RTX PRO 6000 Blackwell Max-Q"),
    *_rows("12.0", "RTX PRO 6000 Blackwell Workstation, RTX PRO 6000 Blackwell Server"),
    *_rows("12.1", "GB10, DGX Spark"),
    # Desktops and laptops.
    *_rows("2.1", "GeForce GT 630, GeForce GT 640M LE, GeForce GT 720M, GeForce GT 730", _PCI_IDS),
    *_rows("2.1", "GeForce 710M, GeForce 810M, GeForce 820M", _PCI_IDS),
    *_rows("5.0", "GeForce 945M, GeForce 945A"),
    *_rows("5.2", "GeForce GTX 960 OEM, GeForce GTX 970M"),
    *_rows("5.2 6.1", "TITAN X"),
    *_rows("6.1", "GeForce GTX 1060"),
    *_rows("8.6", "GeForce RTX 3080 Mobile, GeForce RTX 3080 Max-Q, GeForce RTX 3080 Laptop GPU"),
    # Modules, which sit on no PCI bus.
    *_rows("3.2", "Jetson TK1, Tegra K1"),
    *_rows("5.3", "Jetson TX1, Jetson Nano, Tegra X1"),
    *_rows("6.2", "Jetson TX2, Jetson TX2 NX, Tegra X2"),
    *_rows("7.2", "Jetson Xavier, Jetson AGX Xavier, Jetson Xavier NX, Xavier"),
    *_rows("8.7", "Jetson Orin, Jetson AGX Orin, Jetson Orin NX, Jetson Orin Nano, Orin"),
    *_rows("11.0", "Jetson Thor, Jetson AGX Thor, Jetson T4000, Jetson T5000, Thor"),
)

# By its path: importlib.resources takes longer to import than this to be read.
_TABLE = Path(__file__).with_name("pci_cc.tsv")
_OWN_NAMES = frozenset(row.name for row in PRODUCTS)
_LONGEST = 100  # characters; no name has more, and the search for likeness is slow
_SEPARATORS = re.compile(r"[\s\-_/().,®™]+")
_BRANDS = ("geforce", "tesla", "quadro")
_LINES = ("geforce", "tesla", "quadro", "titan", "rtx", "jetson", "mx", "nvs", "grid")
_LAPTOP = re.compile(r"(.+?) (?:Mobile|Max-Q)(?: / (?:Mobile|Max-Q))?")


@dataclass(frozen=True)
class _Index:
    """Products by key; a brand may be missing from the keys of ``bare``."""

    full: dict[str, Product]
    bare: dict[str, Product]


def find_product(text: str) -> Product | None:
    """The product of this name.

    Args:
        text: A whole name, such as ``RTX 4090`` or NVML's ``NVIDIA A100-SXM4-40GB``.

    Returns:
        The product, with several capabilities where different chips bear the
        name; None where the name is not known.
    """
    key = _key(text)
    index = _index()
    short = _without_brand(key)
    for wanted in (key, short):
        found = index.full.get(wanted) or index.bare.get(wanted)
        if found is not None:
            return found
    return None


def similar_products(text: str) -> tuple[str, ...]:
    """Up to three names which look like this one, the most alike first."""
    key = _key(text[:_LONGEST])
    index = _index()
    known = {**index.bare, **index.full}
    likely = [k for k, product in known.items() if _is_product_line(product.name)]
    has_number = len(key) > 2 and any(c.isdigit() for c in key)
    around = sorted((k for k in likely if has_number and key in k), key=len)[:2]
    near = get_close_matches(key, likely, n=6, cutoff=0.7)
    return tuple(dict.fromkeys(known[match].name for match in (*around, *near)))[:3]


def find_pci_row(device: int) -> PciRow | None:
    """The row of a PCI device of NVIDIA (vendor 10de); None where it is not known."""
    return _pci_rows().get(device)


def _key(text: str) -> str:
    return _SEPARATORS.sub("", text).casefold().removeprefix("nvidia")


def _without_brand(key: str) -> str:
    for brand in _BRANDS:
        key = key.removeprefix(brand)
    return key


def _is_product_line(name: str) -> bool:
    """Whether it is a name that a person would mean, not a sample or a board."""
    if name in _OWN_NAMES:
        return True
    return _key(name).startswith(_LINES) and "Engineering" not in name


@lru_cache(maxsize=1)
def _pci_rows() -> dict[int, PciRow]:
    text = _TABLE.read_text(encoding="ascii")
    lines = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    capabilities: dict[str, ComputeCapability] = {}
    rows = {}
    for device, chip, number, label in lines:
        if number not in capabilities:
            capabilities[number] = ComputeCapability.parse(number)
        number_id = int(device, 16)
        rows[number_id] = PciRow(number_id, chip, capabilities[number], _product_name(label))
    return rows


def _product_name(label: str) -> str | None:
    """What stands in brackets in pci.ids: ``GH100 [H100 PCIe]``."""
    _, bracket, rest = label.partition("[")
    return rest.removesuffix("]") if bracket else None


@lru_cache(maxsize=1)
def _index() -> _Index:
    full: dict[str, Product] = {}
    for name, found in _names():
        _add(full, _key(name), name, found)
    bare: dict[str, Product] = {}
    for key, product in full.items():
        short = _without_brand(key)
        # "GeForce 820M" without its brand could be taken for a number.
        if short != key and short[:1].isalpha():
            _add(bare, short, product.name, product.capabilities)
    return _Index(full, bare)


def _names() -> Iterator[tuple[str, tuple[ComputeCapability, ...]]]:
    """Every name with what it can be; the same name comes up several times."""
    for row in PRODUCTS:
        yield row.name, row.capabilities
    for device in _pci_rows().values():
        if device.name:
            for name in _spellings(device.name):
                yield name, (device.capability,)


def _spellings(name: str) -> tuple[str, ...]:
    """A name of pci.ids, with the other names that the same laptop chip bears."""
    laptop = _LAPTOP.fullmatch(name)
    if laptop is None:
        return (name,)
    kinds = ("Mobile", "Max-Q", "Laptop GPU", "with Max-Q Design")
    return (name, *(f"{laptop[1]} {kind}" for kind in kinds))


def _add(
    index: dict[str, Product], key: str, name: str, found: tuple[ComputeCapability, ...]
) -> None:
    known = index.get(key)
    if known is None:
        index[key] = Product(name, found)
    elif not set(found) <= set(known.capabilities):
        both = tuple(sorted({*known.capabilities, *found}))
        index[key] = Product(known.name, both)

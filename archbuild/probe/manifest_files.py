"""The manifests beside the libraries of one path, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from archbuild.binary.manifests import Manifests
from archbuild.errors import ArchbuildError
from archbuild.model.finding import Finding
from archbuild.model.manifest import Manifest
from archbuild.rules.checking.manifest_checks import check_other_library, check_torch, is_of


class ManifestFiles:
    """What stands in the manifests of some libraries.

    Args:
        manifests: What was found beside them.
        errors: Where to put what is wrong with single ones.
        libraries: By the names that their reader gave them.
    """

    def __init__(
        self, manifests: Manifests, errors: list[ArchbuildError], libraries: Iterable[str]
    ) -> None:
        self._manifests = manifests
        self._found: dict[str, Manifest] = {}
        self._others: dict[str, Finding] = {}
        for library in libraries:
            text = manifests.text_for(library)
            if text is None:
                continue
            try:
                self._sort(library, *text)
            except ArchbuildError as error:
                errors.append(error)

    def _sort(self, library: str, name: str, text: bytes) -> None:
        from archbuild.model.manifest_record import parse_manifest  # noqa: PLC0415 -- costs 10 ms

        manifest = parse_manifest(text, name)
        if is_of(manifest, library):
            self._found[library] = manifest
        else:
            self._others[library] = check_other_library(manifest, name, library)

    def manifest_of(self, library: str) -> Manifest | None:
        """The manifest of a library; None where it has none of its own.

        Args:
            library: By the name that its reader gave it.
        """
        return self._found.get(library)

    def findings(self, library: str, path: str) -> Iterator[Finding]:
        """What is odd about the manifest itself, or the torch in this environment.

        A library in an archive cannot be loaded from there, so that torch is none of
        its concern.

        Args:
            library: By the name that its reader gave it.
            path: How it is called in findings.
        """
        if library in self._others:
            yield replace(self._others[library], file=path)
        manifest = self._found.get(library)
        if manifest is None or manifest.torch is None or not self._manifests.is_on_disk(library):
            return
        from archbuild.probe.torch_build import find_torch, read_cxx11_abi  # noqa: PLC0415

        torch, _ = find_torch()
        if torch is not None:
            yield from check_torch(path, manifest, torch, read_cxx11_abi(torch))

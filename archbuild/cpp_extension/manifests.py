"""Takes manifests and guards where setuptools takes libraries: beside sources, into wheels."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archbuild.build.beside import guard_path, manifest_path

if TYPE_CHECKING:

    class _Command:
        extensions: list[Any]
        build_lib: str
        dry_run: bool

        def get_finalized_command(self, name: str) -> Any: ...
        def get_ext_fullname(self, name: str) -> str: ...
        def get_ext_filename(self, name: str) -> str: ...
        def get_outputs(self) -> list[str]: ...
        def get_output_mapping(self) -> dict[str, str]: ...
        def copy_extensions_to_source(self) -> None: ...
else:
    _Command = object


class WithManifests(_Command):
    """A ``build_ext`` whose libraries have manifests beside them, and guards if it wants them."""

    guard: bool = False

    def copy_extensions_to_source(self) -> None:
        """Take what stands beside the libraries with those that ``--inplace`` puts in place."""
        super().copy_extensions_to_source()
        package = self.get_finalized_command("build_py")
        for extension in self.extensions:
            full = self.get_ext_fullname(extension.name)
            folder = package.get_package_dir(full.rpartition(".")[0])
            for made in self._beside(full):
                shutil.copyfile(made, Path(folder, made.name))

    def get_outputs(self) -> list[str]:
        """The libraries, and what is there beside them."""
        names = [self.get_ext_fullname(extension.name) for extension in self.extensions or ()]
        made = dict.fromkeys(str(path) for name in names for path in self._beside(name))
        outputs = super().get_outputs()
        return [*outputs, *(path for path in made if path not in outputs)]

    def _beside(self, name: str) -> Iterator[Path]:
        library = Path(self.build_lib, self.get_ext_filename(name))
        guards = (guard_path(library, name),) if self.guard else ()
        return (path for path in (manifest_path(library), *guards) if path.exists())

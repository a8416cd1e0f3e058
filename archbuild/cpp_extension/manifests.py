"""Takes manifests where setuptools takes libraries: beside the sources, into wheels."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archbuild.build.manifest import manifest_path

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
    """A ``build_ext`` whose libraries have manifests beside them."""

    def copy_extensions_to_source(self) -> None:
        """Take the manifests with the libraries that ``--inplace`` puts beside the sources."""
        super().copy_extensions_to_source()
        package = self.get_finalized_command("build_py")
        for extension in self.extensions:
            full = self.get_ext_fullname(extension.name)
            made = manifest_path(Path(self.build_lib, self.get_ext_filename(full)))
            if not made.exists():
                continue
            folder = package.get_package_dir(full.rpartition(".")[0])
            shutil.copyfile(made, Path(folder, made.name))

    def get_outputs(self) -> list[str]:
        """The libraries, and the manifests that are there."""
        outputs = super().get_outputs()
        made = [manifest_path(Path(output)) for output in outputs]
        return [*outputs, *(str(path) for path in made if path.exists())]

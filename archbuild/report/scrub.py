"""What tells who and where, left out of a report that others will read.

Paths are cut to what lies inside an environment; folders of the system stay whole, since
they tell what is wrong and not about whom. GPUs get numbers in place of their UUIDs, so
that a reader can still tell one from another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Folders that are the same on everybody's machine.
_SYSTEM = (
    *("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/dev/"),
    *("/opt/nvidia/", "/opt/conda/", "/opt/cuda", "/var/lib/dkms/", "/run/nvidia"),
    *("c:/windows/", "c:/program files/", "c:/program files (x86)/"),
)
# From the first of these on, a path tells of an environment, and no more of a person.
_ANCHORS = (
    *("site-packages", "dist-packages", "torch_extensions", "nvidia", "targets"),
    *("lib64", "lib", "bin", "include", "scripts", "library"),
)
#: Names that are no person's, and names of things that a report speaks of.
_COMMON = frozenset(
    (
        *("root", "user", "users", "admin", "administrator", "ubuntu", "debian", "centos", "home"),
        *("fedora", "ec2-user", "runner", "jovyan", "conda", "docker", "container", "localhost"),
        *(
            "local",
            "nvidia",
            "cuda",
            "cudnn",
            "torch",
            "pytorch",
            "python",
            "python3",
            "pip",
            "gpu",
        ),
        *(
            "tensorflow",
            "jax",
            "linux",
            "windows",
            "wsl",
            "lib",
            "lib64",
            "bin",
            "usr",
            "opt",
            "etc",
        ),
        *(
            "var",
            "tmp",
            "dev",
            "driver",
            "toolkit",
            "package",
            "kernel",
            "error",
            "warning",
            "none",
        ),
        *("native", "host", "test", "build", "default", "container", "library", "machine"),
    )
)
_PUBLIC = (
    *("pytorch.org", "nvidia.com", "github.com", "github.io"),
    *("anaconda.org", "anaconda.com", "python.org", "huggingface.co", "docker.com", "docker.io"),
)

_HEX = "[0-9A-Fa-f]"
_UUID = re.compile(
    rf"\b(?:(?P<kind>MIG-GPU|GPU|MIG)-{_HEX}{{4,}}(?:-{_HEX}+)*(?:/\d+/\d+)?"
    rf"|{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})\b"
)
_ID = re.compile(rf"\b{_HEX}{{32,}}\b")
_SERIAL = re.compile(
    r"(?i)\b(serial(?:[ _-]?(?:number|no\.?))?\s*[:=#]?\s*)([A-Za-z0-9-]*\d[\w-]*)"
)
_BARE_SERIAL = re.compile(r"(?<![\w.])\d{13}(?![\w.])")
_FILE_URL = re.compile(r"(?i)\bfile:/+([^\s'\"]*)")
_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/@'\"]*@)?([^\s/:'\"]+)(:\d+)?([^\s'\"]*)")
_MAIL = re.compile(r"\b[\w.+-]+@(?!lib)(?:[a-z0-9-]+\.)+[a-z]{2,}\b(?!\.\d)")
_FILE = re.compile(
    r"\.(?:so(?:\.\d+)*|dll|pyd?|pth|json|whl|cuh?|cpp|hpp|[hoa]|lib|exe|cubin|fatbin|ptx"
    r"|txt|log|toml|cfg|ya?ml|zip|tar|gz|conda)$",
    re.IGNORECASE,
)
_ENDS = r"[^\s:;,'\"`()<>|=]*"
_UNC = re.compile(rf"(?<![\w:\\])\\{{2,4}}(?![\\?.])[\w.-]+\\{_ENDS}")
_PATH = re.compile(
    # A path by itself, or after a flag such as -I; a home wherever it stands.
    rf"(?:(?<![\w./\\~])|(?<=\s-[A-Z])|(?<=^-[A-Z])|(?<![./\\~])(?=/(?:home|Users|users|root)/))"
    rf"(?:[A-Za-z]:[\\/]+(?:Program Files(?: \(x86\))?)?|/(?!/)|~){_ENDS}"
)


@dataclass(frozen=True)
class Scrubber:
    """Leaves out who and where, the same way throughout one report.

    Args:
        user: The person's name in this system; empty: not known.
        home: Their folder; empty: not known.
        host: The machine's name; empty: not known.
        gpus: UUIDs in order: a GPU becomes its number among them.
        whole: Strings that are one path each, blanks and all.
    """

    user: str = ""
    home: str = ""
    host: str = ""
    gpus: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    def scrub(self, text: str) -> str:
        """The text without names of people and hosts, their paths, UUIDs and serial numbers.

        Args:
            text: Any text.

        Examples:
            >>> Scrubber(user="jane").scrub("/scratch/jane/venv/lib/libcudart.so of jane")
            '.../lib/libcudart.so of USER'
        """
        for path in sorted(filter(_is_path, self.whole), key=len, reverse=True):
            text = text.replace(path, self._path(path))
        home = self.home.rstrip("/\\")
        if len(home) > 1:
            text = re.sub(re.escape(home) + r"(?![\w.-])", "~", text)
        text = _UUID.sub(self._number, text)
        text = _FILE_URL.sub(lambda match: f"file:{self._path('/' + match[1])}", text)
        text = _URL.sub(_url, text)
        text = _MAIL.sub("USER@HOST", text)
        for paths in (_UNC, _PATH):
            text = paths.sub(lambda match: self._path(match[0]), text)
        text = _BARE_SERIAL.sub("SERIAL", _SERIAL.sub(r"\1SERIAL", _ID.sub("ID", text)))
        for name in (self.host, self.host.partition(".")[0]):
            text = _without(text, name, "HOST")
        return _without(text, self.user, "USER")

    def _number(self, match: re.Match[str]) -> str:
        """A GPU's number, also where its UUID is abbreviated; of no GPU: just ``UUID``."""
        if match["kind"] is None:
            return "UUID"
        found = match[0].lower()
        numbers = [n for n, gpu in enumerate(self.gpus, 1) if gpu.lower().startswith(found)]
        kind = "MIG" if match["kind"].startswith("MIG") else "GPU"
        return f"{kind}#{numbers[0] if numbers else '?'}"

    def _path(self, path: str) -> str:
        """A path of the system as it is, another from the environment on."""
        plain = re.sub(r"[\\/]+", "/", path)
        if plain.lower().startswith(_SYSTEM) or plain.strip("/~") == "":
            return path
        parts = [part for part in plain.split("/") if part]
        if len(parts) == 1 and plain.startswith("/"):
            return path
        folded = [part.lower() for part in parts]
        found = [folded.index(anchor) for anchor in _ANCHORS if anchor in folded[1:]]
        if found:
            return f".../{'/'.join(parts[found[0] :])}"
        # What is no file may be the name of a person or of a project.
        return f".../{parts[-1] if _FILE.search(parts[-1]) else ''}"


def _is_path(text: str) -> bool:
    return bool(re.match(r"(?:[A-Za-z]:[\\/]|/|~|\\\\)", text)) and ":" not in text[2:]


def _url(match: re.Match[str]) -> str:
    """A URL without credentials; a host that is not everybody's goes, with its path."""
    scheme, host, port, rest = match[1], match[2], match[3] or "", match[4]
    if any(host == known or host.endswith(f".{known}") for known in _PUBLIC):
        return f"{scheme}{host}{port}{rest}"
    return f"{scheme}HOST/..."


def _without(text: str, name: str, word: str) -> str:
    """The text without a name that is somebody's, where it stands by itself."""
    if len(name) < 2 or name.lower() in _COMMON or name.isdecimal():
        return text
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", word, text)

"""Nobody's name, home, host, UUID or serial number: hard cases first, and what has to stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.report.scrub import Scrubber
from tests.doctors import HOMES

GPU = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
MIG = "MIG-b5c1b1a0-1d5c-5b1e-9d3c-0123456789ab"
WHO = Scrubber(
    user="jane",
    home=f"{HOMES}/jane",
    host="box.example.com",
    gpus=(GPU, MIG),
    whole=("/mnt/jane doe/env/lib/x.so", "C:\\" + "Users\\Jane Doe\\App Data\\x.dll"),
)
NOBODY = Scrubber()


def _spelled(text: str) -> str:
    """With the folders of homes, which no file of a repository should name."""
    return text.replace("<home>", HOMES).replace("<Users>", "/" + "Users").replace("<U>", "Users")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Homes of all systems, of this person and of others.
        ("<home>/jane/venv/lib/x.so", ".../lib/x.so"),
        ("see <home>/jane", "see ~"),
        ("<home>/jane/", "~/"),
        ("<home>/jane2/secret", ".../"),
        ("<home>/group/jdoe/secret/x.py", ".../x.py"),
        ("<Users>/jdoe/x.py:12: error", ".../x.py:12: error"),
        ("/users/jdoe/lib/python3.12/site-packages/torch/a.so", ".../site-packages/torch/a.so"),
        ("~jdoe/x.py", ".../x.py"),
        ("~jdoe", ".../"),
        ("<home>/jane.doe", ".../"),
        ("/gpfs<home>/jane.doe", ".../"),
        ("<home>/group/jdoe", ".../"),
        ("~/x/y.py", ".../y.py"),
        (r"C:\<U>\jdoe\venv\Lib\site-packages\a.dll", ".../site-packages/a.dll"),
        (r"C:\\<U>\\jdoe\\venv\\Lib\\site-packages\\a.dll", ".../site-packages/a.dll"),
        ("C:<Users>/jdoe/x.dll", ".../x.dll"),
        (r"D:\work\jdoe", ".../"),
        # Blanks in a path that is known to be one.
        ("/mnt/jane doe/env/lib/x.so is", ".../lib/x.so is"),
        (r"C:\<U>\Jane Doe\App Data\x.dll", ".../x.dll"),
        # Where paths hide.
        (
            "LD_LIBRARY_PATH=<home>/jane/a/lib:/usr/local/cuda/lib64:/scratch/jdoe/q",
            "LD_LIBRARY_PATH=.../lib:/usr/local/cuda/lib64:.../",
        ),
        ("nvcc -I<home>/jdoe/inc -L<home>/jdoe/lib", "nvcc -I.../ -L.../lib"),
        ("-v /data/jane:/data", "-v .../:/data"),
        ('"/srv/jdoe/x.json"', '".../x.json"'),
        ("(<home>/jane/x.py)", "(.../x.py)"),
        ("x=<home>/jdoe", "x=.../"),
        ("file://<home>/jdoe/src/flash-attn", "file:.../"),
        (r"\\fileserver\share\jdoe\x.whl", ".../x.whl"),
        # Hosts, URLs, mail.
        ("box: nvidia-smi on box.example.com", "HOST: nvidia-smi on HOST"),
        ("https://jane:token@pypi.corp.example/simple/x", "https://HOST/..."),
        ("https://token@download.pytorch.org/whl", "https://download.pytorch.org/whl"),
        ("git+ssh://git@git.corp.example/team/x.git", "git+ssh://HOST/..."),
        ("http://10.1.2.3/x", "http://HOST/..."),
        ("jane.doe@corp.example wrote", "USER@HOST wrote"),
        ("by jane, (jane)", "by USER, (USER)"),
        # UUIDs and serial numbers.
        (f"{GPU} and {GPU[:12]}", "GPU#1 and GPU#1"),
        (MIG.upper(), "MIG#2"),
        ("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", "MIG#?"),
        ("CUDA_VISIBLE_DEVICES=GPU-ffffffff-0000", "CUDA_VISIBLE_DEVICES=GPU#?"),
        ("8932f937-d72c-4106-c12f-20bd9faed9f6", "UUID"),
        ("Serial Number                         : 0324018012345", None),
        ("serial: AB-12345", "serial: SERIAL"),
        ("board 0324018012345", "board SERIAL"),
        ("container 0123456789abcdef0123456789abcdef", "container ID"),
    ],
)
def test_what_is_left_out(text: str, expected: str | None) -> None:
    found = WHO.scrub(_spelled(text))
    assert found == (expected or "Serial Number                         : SERIAL")


@pytest.mark.parametrize(
    "text",
    [
        "driver 580.65.06, cuDNN 9.10.2.21, 12.4.127.1",
        "/usr/local/cuda-12.4/lib64/libcudart.so.12",
        "/usr/lib/wsl/lib/libcuda.so.1 and /proc/driver/nvidia/version",
        r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v13.0\bin\nvcc.exe",
        "00000000:01:00.0",
        "memory 25769803776 bytes",
        "error 209/98 and/or 12.4/12.8",
        "pip install torch --index-url https://download.pytorch.org/whl/cu128",
        "undefined symbol: __x@libnvJitLink.so.12, memcpy@GLIBC_2.14",
        "sm_90a, compute_120, RTX 5090 (12.0)",
        "docker run --rm --gpus all nvidia/cuda:13.0.0-base nvidia-smi",
        "/workspace",
        "serial execution of kernels",
        "GPU-0",
    ],
)
def test_what_stays(text: str) -> None:
    assert WHO.scrub(text) == text
    assert NOBODY.scrub(text) == text


@pytest.mark.parametrize("name", ["root", "torch", "cuda", "ubuntu", "a", "", "1000", "Python"])
def test_names_of_things_are_nobodys(name: str) -> None:
    text = f"root torch cuda ubuntu a 1000 Python {name}"
    assert Scrubber(user=name, host=name).scrub(text) == text


def test_a_home_of_the_whole_disk_hides_nothing() -> None:
    assert Scrubber(home="/").scrub("/usr/lib/x.so / y") == "/usr/lib/x.so / y"


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(WHO.scrub(text), str)


_WORD = st.from_regex(r"[a-z][a-z0-9]{4,9}", fullmatch=True)


@given(
    user=_WORD.map(lambda word: f"zz{word}"),
    folders=st.lists(st.sampled_from(["env", "lib", "site-packages", "a b", "x.so", "bin"])),
    base=st.sampled_from(["<home>/", "<Users>/", "/scratch/", "C:\\<U>\\", "/gpfs<home>/g/"]),
    around=st.sampled_from(["{}", "x={}", "({})", '"{}"', "-L{}:/usr/lib", "{}: error"]),
)
def test_a_known_user_never_stays(user: str, folders: list[str], base: str, around: str) -> None:
    slash = "\\" if "\\" in base else "/"
    path = _spelled(base) + slash.join([user, *folders])
    assert user not in Scrubber(user=user, whole=(path,)).scrub(around.format(path))

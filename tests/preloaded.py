"""A process that has imported torch and forks a child for each test: the import is slow."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SERVER = """
import json, os, sys
{imports}
talk = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    told = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDONLY)
            made = os.open(told["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for here, there in ((null, 0), (made, 1), (made, 2)):
                os.dup2(here, there)
            os.environ.clear()
            os.environ.update(told["env"])
            os.chdir(told["cwd"])
            exec(compile(told["code"], "<test>", "exec"), {{"__name__": "__main__"}})
            code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    talk.write(json.dumps(status) + "\\n")
    talk.flush()
"""


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Args:
        status: Its exit status, or minus a signal's number.
        output: What it printed, on either stream.
    """

    status: int
    output: str


class Preloaded:
    """The process.

    Args:
        imports: What it imports before it forks.
        env: Its variables.
    """

    def __init__(self, imports: str, env: dict[str, str]) -> None:
        self._env = env
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER.format(imports=imports)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, cwd: Path, **variables: str) -> Ended:
        """Run a program in a child, which is a process of its own in all that matters here."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        output = cwd / ".output"
        told = {
            "code": code,
            "cwd": str(cwd),
            "output": str(output),
            "env": {**self._env, **variables},
        }
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process with torch has ended"
        return Ended(int(json.loads(answer)), output.read_text(errors="replace"))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

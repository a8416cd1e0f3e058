"""Write records of machines: their GPUs, drivers, packages, libraries, toolkits and trials.

Each row says what a machine is and what is expected of the doctor there; the public case that
it comes from is named. Write them again, from the root of the repository::

    python -m tests.data.make_machine_records
"""

from __future__ import annotations

from pathlib import Path

from tests.data.code_case import Case
from tests.data.code_other_cases import LIBRARIES, TOOLKITS, TRIALS
from tests.data.code_package_cases import PACKAGES
from tests.data.code_torch_cases import TORCH
from tests.data.machine_card_cases import CARDS
from tests.data.machine_cases import MACHINES
from tests.data.machine_container_cases import CONTAINERS
from tests.data.machine_failing_cases import FAILING
from tests.data.machine_healthy_cases import HEALTHY
from tests.data.machine_no_driver_cases import NO_DRIVER
from tests.data.machine_system_cases import SYSTEMS
from tests.data.machine_view_cases import VIEWS

FOLDER = Path(__file__).parent / "machines"

#: Records about code, and records about GPUs, driver, container and system.
_CODE = (*TORCH, *PACKAGES, *LIBRARIES, *TOOLKITS, *TRIALS)
_MACHINES = (*MACHINES, *HEALTHY, *NO_DRIVER, *CARDS, *FAILING, *CONTAINERS, *SYSTEMS, *VIEWS)

#: Every record, by its name.
CASES: dict[str, Case] = {case.name: case for case in (*_CODE, *_MACHINES)}
#: Those about GPUs, driver, container and system.
MACHINE_CASES: dict[str, Case] = {case.name: case for case in _MACHINES}


def write() -> None:
    """Write every record."""
    FOLDER.mkdir(exist_ok=True)
    for name, case in CASES.items():
        (FOLDER / f"{name}.json").write_text(case.text, encoding="utf-8")


if __name__ == "__main__":
    write()

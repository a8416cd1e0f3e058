"""Which torch and CUDA to install for these GPUs, driver, system, processor and Python?"""

from __future__ import annotations

from datetime import date

from archbuild.model.machine import Machine
from archbuild.probe.machine import query_machine
from archbuild.rules.recommending.choosing import recommend
from archbuild.rules.recommending.result import Recommendation
from archbuild.rules.recommending.wish import Asked, make_wish


def recommend_torch(
    machine: Machine | None = None,
    asked: Asked | None = None,
    *,
    today: date | None = None,
) -> Recommendation:
    """The newest torch and CUDA that serve every GPU.

    Args:
        machine: A recorded machine; None: this one is asked, for its packages only where
            its own GPUs are meant.
        asked: What was typed over the machine.
        today: Against which the age of the facts is told; None: today.

    Returns:
        The answer, of which "none" is one.

    Raises:
        UsageError: If something that was typed can't be read.
        NoGpuError: If no GPU is named or found.
    """
    asked = asked or Asked()
    if machine is None:
        machine = query_machine(deep=asked.gpus is None)
    # The day of the person, who reads how old the facts are.
    day = today or date.today()  # noqa: DTZ011
    return recommend(make_wish(machine, asked), day)

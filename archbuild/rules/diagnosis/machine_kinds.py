"""Every kind of finding about GPUs, driver, container and system: D300 to D339."""

from __future__ import annotations

from archbuild.rules.diagnosis.driver_kinds import DRIVER_KINDS
from archbuild.rules.diagnosis.surrounding_kinds import SURROUNDING_KINDS

#: Every one of them.
MACHINE_KINDS = (*DRIVER_KINDS, *SURROUNDING_KINDS)

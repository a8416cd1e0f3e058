"""How a package is built again, as text and as JSON."""

from __future__ import annotations

import json

from archbuild.rules.rebuilding.plan import RebuildPlan

REBUILD_SCHEMA = "archbuild.rebuild/1"


def render_plan(plan: RebuildPlan, *, acts: bool) -> str:
    """The plan as text.

    Args:
        plan: The plan.
        acts: Whether it is about to be done; else it is told how.
    """
    archs = ", ".join(f"sm_{arch.capability.number}{arch.suffix.value}" for arch in plan.archs)
    lines = [f"{plan.package} {plan.version} is built again for {archs}:", ""]
    lines += [f"  {command}" for command in plan.commands()]
    lines += ["", *plan.notes]
    if not acts:
        lines.append(f"archbuild does all three with: archbuild rebuild {plan.package} --yes")
    return "\n".join(lines).rstrip()


def rebuild_json(plan: RebuildPlan) -> str:
    """The plan as JSON, by the schema ``rebuild.json``."""
    document = {
        "schema": REBUILD_SCHEMA,
        "package": plan.package,
        "version": plan.version,
        "source": plan.source,
        "archs": [str(arch) for arch in plan.archs],
        "environment": dict(plan.environment),
        "commands": list(plan.commands()),
        "notes": list(plan.notes),
    }
    return json.dumps(document, indent=2)

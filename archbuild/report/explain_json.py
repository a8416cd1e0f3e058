"""The explanation of an error for programs, by ``report/schemas/explain.json``."""

from __future__ import annotations

import json
from typing import Any

from archbuild.model.record import encode
from archbuild.rules.covering.places import Place
from archbuild.rules.explaining.answer import Named, Phrase
from archbuild.rules.explaining.phrases import say
from archbuild.services.explain import ExplainReport

SCHEMA = "archbuild.explain/1"


def explain_json(report: ExplainReport) -> str:
    """The answer as JSON text."""
    return json.dumps(explain_document(report), indent=2, ensure_ascii=True)


def explain_document(report: ExplainReport) -> dict[str, Any]:
    """What :func:`explain_json` writes, as data."""
    answer = report.answer
    return {
        "schema": SCHEMA,
        "exit_code": report.exit_code,
        "key": answer.key,
        "line": answer.line,
        "cuda_error": _named(answer.named),
        "errors": list(answer.errors),
        "meaning": _sentence(answer.meaning),
        "here": [_sentence(part) for part in answer.here],
        "decided": answer.decided,
        "kernels": [{"name": name, "readable": report.names.get(name)} for name in answer.kernels],
        "findings": encode(answer.findings),
        "cure": _sentence(answer.cure),
        "commands": list(answer.commands),
        "wanted": [_sentence(part) for part in answer.wanted],
        "others": [_sentence(part) for part in answer.others],
        "gpus": [_gpu(place) for place in report.circumstances.places],
        "binary": report.circumstances.binary or None,
        "page": answer.page or None,
    }


def _named(named: Named | None) -> dict[str, Any] | None:
    if named is None:
        return None
    return {
        "number": named.number,
        "name": named.name,
        "text": named.text,
        "old_number": named.old_number,
    }


def _sentence(phrase: Phrase | None) -> dict[str, Any] | None:
    """A phrase by its key, with its values, and as a sentence in English."""
    if phrase is None:
        return None
    values = {
        name: value if isinstance(value, str) else say(value) for name, value in phrase.values
    }
    return {"key": phrase.key, "text": say(phrase), "values": values}


def _gpu(place: Place) -> dict[str, Any]:
    return {
        "name": place.gpu or None,
        "capability": encode(place.capability),
        "driver": encode(place.driver),
    }

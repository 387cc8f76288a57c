"""Sign-offs: who approved or rejected a release, and why; beside the ledger, never in the release.

They are lines of JSON in a private file named like the ledger, each with the hash of the files it is about.
Names are stated, not checked: anyone who can write the file can add a line.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from timeveil.domain.lines import LONGEST
from timeveil.errors import ParameterError
from timeveil.folder.placing import refuse_inside
from timeveil.reading.files import small_text, sync, translate_os_errors

ENDING = ".signoff.jsonl"


@dataclass(frozen=True, slots=True)
class SignOff:
    """One decision: `release` is the hash over all files of the release it is about."""

    name: str
    decision: Literal["approved", "rejected"]
    reason: str
    at: str
    release: str


def sign_offs(ledger: str | Path, release: str) -> list[SignOff]:
    """The decisions about a release with this hash, oldest first; lines that are none are ignored."""
    decisions = []
    with suppress(OSError, ValueError):
        for line in small_text(_path(ledger), "a file of sign-offs has").splitlines():
            with suppress(ValueError, TypeError):
                decision = SignOff(**json.loads(line))
                if decision.release == release and _is_sound(asdict(decision)):
                    decisions.append(decision)
    return decisions


def sign_off(ledger: str | Path, name: str, decision: str, reason: str, release: str) -> SignOff:
    """Record a decision beside the ledger."""
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    texts = {"name": name.strip(), "decision": decision, "reason": reason.strip()}
    texts |= {"at": moment, "release": release}
    if not _is_sound(texts):
        hint = f"give a name and a reason of one line each, up to {LONGEST} characters, and approve or reject"
        raise ParameterError("the sign-off is not complete", hint=hint)
    path = _path(ledger)
    refuse_inside(path, "the sign-off")
    with translate_os_errors(path.name):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            file.write(json.dumps(texts, ensure_ascii=False) + "\n")
            sync(file)
    return SignOff(**texts)  # type: ignore[arg-type]  # the decision was checked


def _path(ledger: str | Path) -> Path:
    return Path(f"{ledger}{ENDING}")


def _is_sound(texts: Mapping[str, Any]) -> bool:
    are_lines = (isinstance(t, str) and t.isprintable() and 0 < len(t) <= LONGEST for t in texts.values())
    return all(are_lines) and texts["decision"] in ("approved", "rejected")

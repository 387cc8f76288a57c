"""What settings and releases are compared by; each model has its own losses, and what differs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from timeveil.domain.release import Release


class Tradeoff(ABC):
    """The losses of a model, an outsider, and the promise; `asked` are the questions that a loss needs."""

    losses: ClassVar[Mapping[str, str]]
    goal: ClassVar[str]
    asked: ClassVar[Mapping[str, int]] = {}

    def basis(self, manifest: Mapping[str, Any]) -> str:
        """What losses and chances are about: with another basis, they answer other questions."""
        roles = [(column["name"], column["role"]) for column in manifest["columns"]]
        roles = [each for each in roles if each[1] != "step"]  # how rows were recoded, nothing about them
        return repr([roles, manifest["time"]["column"], manifest["time"].get("slot")])

    def known(self, _adversary: Mapping[str, Any]) -> str:
        """What the adversary knows, in words."""
        return ""

    @abstractmethod
    def outsider(self, explored: str = "", options: Mapping[str, Any] = {}) -> Any:
        """The adversary that the promise, or the explored parameter, is about."""

    def further_outsiders(self, _release: Release) -> dict[str, Any]:
        """Adversaries that releases are also compared by."""
        return {}

    def usual_risk(self, _adversary: Any) -> str:
        """The way to state the risk."""
        return "worst"

    def promised(self, evidence: Any, _adversary: Any) -> float:
        """The chance that the promise leaves to the adversary; 1 if it does not cover this one."""
        return float(1 / evidence.k)

    def stated(self, _counts: Mapping[str, Any]) -> dict[str, float]:
        """The losses that the folder itself states."""
        return {}

    @abstractmethod
    def measured(self, release: Release, loss: Any) -> tuple[dict[str, float], dict[str, Any]]:
        """The losses by name, and other results that tell settings apart."""

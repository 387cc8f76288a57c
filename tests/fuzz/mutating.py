"""Mutations that know the form of an input, so that more of them get past its parser."""

from __future__ import annotations

import json
import random
from typing import Any

ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 0.5, 1e308, float("nan")),
    *("", "week", "day", "relative", "Europe/Rome", "../x", "a\u0301", "\u202e", "x" * 300, "9" * 30),
    *([], {}, [[]], {"kind": "steps"}, ["a", "a"], [0, -1]),
)


def mutated(name: str, data: bytes, rng: random.Random) -> bytes | None:
    """A mutated manifest; None where bytes are best mutated as bytes."""
    if name != "manifest" or rng.random() < 0.1:
        return None
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or len(data) > 60_000:
        return None
    for _ in range(rng.randint(1, 3)):
        _change(told, rng)
    try:
        return (json.dumps(told, indent=2, ensure_ascii=rng.random() < 0.1) + "\n").encode()
    except (ValueError, RecursionError):
        return None


def _change(told: Any, rng: random.Random) -> None:
    """Walk to a random place and take it away, replace it, double it or add beside it."""
    place = told
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        match rng.randrange(6):
            case 0:
                del place[key]
            case 1 if isinstance(place, list):
                place.append(place[key])
            case 1:
                place[rng.choice(["kind", "k", "name", "zone", "of"])] = rng.choice(ODD)
            case 2 if isinstance(place[key], int):
                place[key] += rng.choice([-1, 1, 7])
            case _:
                place[key] = rng.choice(ODD)
        return

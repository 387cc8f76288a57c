"""With hierarchies: which combinations of levels and time are least general, and how to have another."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from timeveil.domain.release import Release
from timeveil.page.wording import counted

MOST = 8
"""How many combinations are told; the others are in release.json."""


def combinations(release: Release, columns: Sequence[str] = ()) -> Iterator[str]:
    """The least general combinations, those with the most groups first, one to a line.

    `columns` are those with a hierarchy, also where none of the combinations makes them coarser.
    """
    nodes = sorted(release.manifest.get("nodes", ()), key=_groups, reverse=True)
    if len(nodes) < 2:
        return
    known = list(dict.fromkeys((*columns, *(name for node in nodes for name in node["levels"]))))
    total = counted(len(nodes), "combination")
    some = "" if len(nodes) <= MOST else f"; the {MOST} with the most groups, all others in release.json"
    lines = [f"{total} of levels and time are least general{some}:"]
    lines += [f"{_described(node, known)}: {counted(_groups(node), 'group')}" for node in nodes[:MOST]]
    other = next(node for node in nodes if not _is_chosen(node, release))
    lines.append(f"To have another, pin it, such as with {pinned(other, known)}.")
    yield "\n".join(lines)


def pinned(node: Mapping[str, Any], columns: Sequence[str]) -> str:
    """The options that leave one combination only.

    >>> pinned({"granularity": "month", "levels": {"age": {"level": 1, "name": "10 wide"}}}, ["zip", "age"])
    '`--choose month --level zip=0 --level age=1`'
    """
    levels = {name: node["levels"].get(name, {"level": 0})["level"] for name in columns}
    options = ["--choose", node["granularity"]]
    for name, level in levels.items():
        options += ["--level", f"{name}={level}"]
    return f"`{shlex.join(options)}`"


def _described(node: Mapping[str, Any], columns: Sequence[str]) -> str:
    return ", ".join([f"`{node['granularity']}`", *(_level(name, node["levels"]) for name in columns)])


def _level(column: str, levels: Mapping[str, Mapping[str, Any]]) -> str:
    if column not in levels:
        return f"`{column}` as it is"
    name = levels[column]["name"]
    return f"`{column}` to one value for all" if name == "*" else f"`{column}` to `{name}`"


def _groups(node: Mapping[str, Any]) -> int:
    return int(node["groups"] - node["groups_below_k"])


def _is_chosen(node: Mapping[str, Any], release: Release) -> bool:
    manifest = release.manifest
    names = (
        manifest["granularity"],
        *manifest["candidates"].get(manifest["granularity"], {}).get("aliases", ()),
    )
    return node["granularity"] in names and node["levels"] == manifest["levels"]

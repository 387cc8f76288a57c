"""What a process of the web app does: one request from stdin, progress and the result to stdout.

Everything is done by `jobs`, as for the command line. The end of stdin means that the server is gone: then
the process leaves by the way that removes temporary files, and so does it when it is asked to stop.
"""

import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import timeveil as tv
from timeveil.domain.run import Run
from timeveil.errors import safe_to_show, spell
from timeveil.models import adversary_of, method_of, part, tables

PREVIEW, MOST_COLUMNS, SHOWN, MOST_CHARACTERS = 8, 14, 6, 60
Say = Callable[[Mapping[str, Any]], None]


def run_of(request: Mapping[str, Any]) -> Run:
    """The run that a draft describes."""
    from timeveil.jobs.typed import plain_roles

    files = {name: request[name] for name in ("out", "format", "ledger") if request.get(name)}
    roles = None if request["of_release"] else plain_roles(request["columns"])
    table, source, values = tables()[request["command"]], request["source"], request["values"]
    return Run(table, source, roles, values, **{"out": "DIR", **files})


def survey(request: Mapping[str, Any], _say: Say) -> dict[str, Any]:
    """The columns of a table with proposed roles."""
    return tv.suggest(request["source"], command=request["command"], **request["form"]).as_dict()


def values(request: Mapping[str, Any], _say: Say) -> dict[str, Any]:
    """The first cells of each column of a table, which somebody asked to see."""
    from timeveil.reading.sources import Form, open_source

    source = open_source(request["source"], Form(**request["form"]))
    batch = next((batch for batch in source.batches(source.names) if batch.num_rows), None)
    rows = [] if batch is None else batch.slice(0, PREVIEW).to_pylist()
    return {name: [_cell(row[name]) for row in rows] for name in source.names}


def risk(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """The risk of a table as it is."""
    from timeveil.jobs.publish import profile_run

    risk, summary = profile_run(run_of(request), _progress(say))
    return {"safe": bool(risk.safe), "numbers": risk.as_dict(), **_shown(summary)}


def explore(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """What several settings of a parameter cost and give; the curve so far after each."""
    from timeveil.explore.exploration import Exploration, Setting, exploration_sentences
    from timeveil.jobs.publish import arguments, source_of
    from timeveil.web.curve import curve

    run, settings = run_of(request), list[Setting]()
    limits = {name: request[name] for name in ("max_loss", "max_risk")}
    loss = next(iter(part(run.model, "judges.profile").Tradeoff.losses))

    def draw(setting: Setting) -> None:
        settings.append(setting)
        in_order = tuple(sorted(settings, key=lambda each: each.value))
        say({"svg": curve(Exploration(run.model, request["explored"], in_order, loss, **limits))})

    listening: Any = {"progress": _progress(say), "each": draw}
    method, table = method_of(run.table), source_of(run)
    exploration = tv.explore(method, table, run.roles, **listening, **limits, **arguments(run))
    say({"svg": curve(exploration, finished=True)})
    return {"exploration": exploration.as_dict(), "sentences": exploration_sentences(exploration)}


def publish(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Publish, then show what the release is worth."""
    from timeveil.jobs.publish import publish

    run = run_of(request)
    outcome = publish(run, lambda step, share: _progress(say)(step, share * 0.8))
    if outcome.explanation is None:
        violations = [violation.message for violation in outcome.verdict.violations]
        return {"holds": False, "violations": violations}
    say({"written": True})
    _progress(say)("attacking", 0.85)
    result = {"holds": True, "model": run.model, **outcome.explanation.as_dict(), **_head(outcome.release)}
    return {**result, **_attacked(outcome.release, outcome.ledger)}


def _head(release: Any) -> dict[str, Any]:
    """Some rows of each table of a release, without the middle of many columns; the first may be coarsest."""
    tables = []
    for name, whole in release.tables.items():
        middle = whole.column_names[SHOWN:-SHOWN] if whole.num_columns > MOST_COLUMNS else []
        table, caption = whole.drop_columns(middle), f"Some rows of the table {name}"
        caption += f", without the {len(middle):,} columns from {middle[0]} to {middle[-1]}" if middle else ""
        step = max(1, table.num_rows // PREVIEW)
        rows = table.take(list(range(step // 2, table.num_rows, step))[:PREVIEW])
        cells = [list(map(_cell, row.values())) for row in rows.to_pylist()]
        tables.append({"name": name, "caption": caption, "head": rows.column_names, "rows": cells})
    return {"preview": tables}


def _cell(cell: Any) -> str:
    """A cell as it is shown; a long one up to a length."""
    text = ", ".join(map(str, cell)) if isinstance(cell, list) else "" if cell is None else str(cell)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _attacked(release: Any, ledger: Any, **knowledge: Any) -> dict[str, Any]:
    """The attack before and after by somebody who knows this, and what the release costs."""
    from timeveil.judging import gather

    evidence, model = gather(release, ledger), release.manifest["model"]
    words, pictures = part(model, "words"), part(model, "words.pictures")
    adversary = adversary_of(model).typed(knowledge, release.manifest) if knowledge else None
    breach: Any = tv.attack(evidence, None, adversary)
    unit = [release.manifest["time"]["unit"] or "second"] if model == "time" else []
    picture = pictures.attack_picture(breach, *unit) if hasattr(pictures, "attack_picture") else None
    attack = {**_shown(words.attack_summary(breach, release)), "svg": picture and picture.svg(1)}
    return {"attack": attack, "loss": _shown(words.loss_summary(tv.measure(evidence)))}


def judge(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Verify a folder, with its ledger if there is one, and say what it is."""
    from timeveil.report import findings_of, verification

    _progress(say)("verifying", 0.1)
    ledger = tv.open_ledger(request["ledger"]) if request["ledger"] else None
    verified = verification(request["folder"], ledger)
    result: dict[str, Any] = {
        "holds": bool(verified.verdict),
        "scope": verified.verdict.scope,
        "model": verified.model,
        "sentences": list(verified.sentences),
        "findings": findings_of(verified.verdict),
        "hash": verified.hash_of_all,
        "files": [list(pair) for pair in verified.hashes][:50],
    }
    if verified.verdict and verified.evidence is not None:
        release = verified.evidence.release
        result |= {**_head(release), "columns": [column["name"] for column in release.manifest["columns"]]}
        if ledger is not None:
            _progress(say)("attacking", 0.5)
            result |= _attacked(release, ledger)
    return result


def query(request: Mapping[str, Any], _say: Say) -> dict[str, Any]:
    """The answer to a question about a release."""
    from timeveil.jobs.query import Question

    remarks: list[str] = []
    release = tv.open_release(request["folder"])
    text, data = Question(**request["question"]).answer(release, remarks.append)
    return {"text": text, "numbers": data, "remarks": remarks}


def attack(request: Mapping[str, Any], _say: Say) -> dict[str, Any]:
    """What somebody finds who knows what the question says."""
    release, ledger = tv.open_release(request["folder"]), tv.open_ledger(request["ledger"])
    return {**_attacked(release, ledger, **request["question"]), "remarks": []}


def compare(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Releases of the same data side by side."""
    from timeveil.compare import comparison_lines, comparison_picture

    folders = {Path(folder).name: tv.open_release(folder) for folder in request["folders"]}
    comparison = tv.compare(folders, progress=_progress(say))
    svg = comparison_picture(comparison).svg(1) if comparison.lines else None
    text = "\n".join(comparison_lines(comparison))
    return {"text": text, "svg": svg, "numbers": comparison.as_dict(), "remarks": []}


def report(request: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """The report on a folder."""
    report = tv.report(request["folder"], request["ledger"] or None, progress=_progress(say))
    return {"html": report.html, "report": report.as_dict(), "kind": report.kind}


TASKS: Mapping[str, Callable[[Mapping[str, Any], Say], dict[str, Any]]] = {
    task.__name__: task
    for task in (survey, values, risk, explore, publish, judge, query, attack, compare, report)
}


def _progress(say: Say) -> Callable[[str, float], None]:
    return lambda step, share: say({"step": step, "share": share})


def _shown(summary: Any) -> dict[str, Any]:
    """A summary as data, its picture as SVG."""
    table = None if summary.table is None else summary.table.data()
    words = {"title": summary.title, "sentences": list(summary.sentences), "limits": list(summary.limits)}
    return {**words, "table": table, "svg": summary.picture and summary.picture.svg(1)}


def error_data(cause: Exception) -> dict[str, Any]:
    """An error as pages show it, parameters as a form names them."""
    error = safe_to_show(cause)
    changes = re.findall(r"\{(\w+)(?:=([^{}]*))?\}", error.template)  # what the hint says to change
    shown = {"message": error.message, "hint": spell(error.template, "form"), "code": error.code}
    return {**shown, "parameters": [name for name, _ in changes], "changes": changes}


def main() -> None:
    """Do one task."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    request = json.loads(sys.stdin.buffer.readline())
    out, lock = os.fdopen(os.dup(1), "w", encoding="utf-8"), threading.Lock()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that libraries print is taken for an answer

    def say(message: Mapping[str, Any]) -> None:
        with lock, suppress(BrokenPipeError):
            out.write(json.dumps(message, default=str) + "\n")
            out.flush()

    def leave_with_the_server() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=leave_with_the_server, daemon=True).start()
    try:
        say({"result": TASKS[request["kind"]](request, say)})
    except Exception as cause:  # noqa: BLE001 (whatever it is, the page says so)
        say({"error": error_data(cause)})
    out.close()


if __name__ == "__main__":
    main()

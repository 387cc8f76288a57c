"""Coverage-guided fuzzing: `python -m tests.fuzz [TARGET...]`, each for FUZZ_SECONDS (60 unless set).

atheris mutates the seed corpus and keeps what reaches new lines of timeveil. An input that breaks
the contract of its target is left in `.fuzz/<target>/`; make it small, mend what it found, and add it to
`tests/fuzz/corpus`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE, WORK = Path(__file__).parent, Path(".fuzz")
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))
PATIENCE, MEMORY_MB = 20, 3000


def fuzz(name: str) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["timeveil"], exclude=["timeveil.kernels"]):
        from tests.fuzz import targets

    root = Path(tempfile.mkdtemp(prefix="fuzz-"))
    tempfile.tempdir = str(root)

    def one(data: bytes) -> None:
        targets.check(name, data, root / "place")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        from tests.fuzz.mutating import mutated

        found = mutated(name, data, random.Random(seed))  # noqa: S311
        return atheris.Mutate(data, most) if found is None or len(found) > most else found

    own = WORK / name / "corpus"
    own.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={SECONDS}",
        f"-seed={SEED}",
        f"-timeout={PATIENCE}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={WORK / name}/",
        "-max_len=65536",
        "-len_control=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(own), str(HERE / "corpus" / name)], one, custom_mutator=mutate)
    atheris.Fuzz()


def main(names: list[str]) -> int:
    """Each target in a process of its own; how many broke their contract."""
    known = sorted(path.name for path in (HERE / "corpus").iterdir())
    broken = []
    for name in names or known:
        WORK.joinpath(name).mkdir(parents=True, exist_ok=True)
        log = WORK / name / "log.txt"
        with log.open("wb") as file:
            command = [sys.executable, "-m", "tests.fuzz", "--one", name]
            code = subprocess.run(command, stdout=file, stderr=file, timeout=SECONDS + 300).returncode
        said = log.read_text(errors="replace").splitlines()
        runs = next((line.split()[-1] for line in said if "number_of_executed_units" in line), "?")
        sys.stdout.write(f"{name}: {runs} runs{'' if code == 0 else f', BROKEN: see {log}'}\n")
        sys.stdout.flush()
        broken += [name] if code else []
    return len(broken)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))

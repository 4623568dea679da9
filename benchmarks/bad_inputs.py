"""How every bad input ends: every kind at every command and option, and in every field of stored files.

    python benchmarks/bad_inputs.py [--kinds given settings terminals stored] [--share 1.0] [--out FILE.jsonl]

Prints how many were refused, accepted as allowed, or accepted silently, and how many ended in an internal error, a hang
or too much memory. The tests take a seeded sample of the same cases.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# A script's own folder comes first, and one file in it is named like a package.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from bad_inputs import Case, bench, given_cases, setting_cases, terminal_cases
from damaged_stores import stored_cases
from forked_commands import DEFECT, KILLED, TOO_LARGE, Ending, ForkedCommands

GOOD = ("refused", "taken, which it may be")


def verdict(case: Case, ending: Ending) -> str:
    if ending.code == DEFECT or "Traceback" in ending.err:
        return "internal error"
    if ending.code == KILLED:
        return "hang"
    if ending.code == TOO_LARGE:
        return "too much memory"
    if ending.code == 0:
        return GOOD[1] if case.may_be_taken else "taken in silence"
    return GOOD[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", nargs="*", default=["given", "settings", "terminals", "stored"])
    parser.add_argument("--share", type=float, default=1.0, help="Of all cases, chosen with the same seed each time.")
    parser.add_argument("--out", type=Path, help="Write what ended badly here, a JSON line each.")
    asked = parser.parse_args()
    top = Path(tempfile.mkdtemp(prefix="bad-inputs-"))
    try:
        installed = bench(top)
        every = {
            "given": lambda: list(given_cases()),
            "settings": lambda: list(setting_cases()),
            "terminals": lambda: list(terminal_cases()),
            "stored": lambda: list(stored_cases(installed)),
        }
        cases = [case for kind in asked.kinds for case in every[kind]()]
        cases = random.Random(7).sample(cases, round(asked.share * len(cases)))
        found: Counter[str] = Counter()
        bad, begun = [], time.monotonic()
        with ForkedCommands() as commands:
            for number, case in enumerate(cases):
                folder = top / f"case-{number}"
                folder.mkdir()
                ending = case.run(installed, commands, folder)
                found[told := verdict(case, ending)] += 1
                if told not in GOOD:
                    bad.append(
                        {"ending": told, "case": str(case), "seconds": ending.seconds, "error": ending.err[-1500:]}
                    )
                    print(f"{told}: {case}", flush=True)
                shutil.rmtree(folder, ignore_errors=True)
        print(f"{len(cases)} bad inputs in {time.monotonic() - begun:.0f} s: {dict(found)}")
        if asked.out:
            asked.out.write_text("".join(json.dumps(one) + "\n" for one in bad))
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()

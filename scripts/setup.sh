#!/usr/bin/env bash
# Sets up everything the project needs on a fresh Debian or Ubuntu machine: Python's venv, uv, the locked
# dependencies and Java. Safe to run again: what is there already is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/debian.sh

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "setup: no Python 3.11 to 3.14 found; install one (on Debian 12 or later: apt-get install python3-venv)," \
        "or name it: make setup PYTHON=/path/to/python3" >&2
    exit 1
}

# Java as Spark and Flink look for it: JAVA_HOME first.
java_program() { if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME/bin/java"; else command -v java || true; fi; }
java_major() { "$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1; }

# An interrupted run may have left an interpreter without pip.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        debian_package "python$version-venv|python3-venv" "Python's venv is missing"
    echo "setup: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
# --no-deps --require-hashes: nothing but the very files that the lock names is ever installed.
.venv/bin/python -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check -r bootstrap.lock
echo "setup: installing the locked dependencies"
# Compiled once, and not by each of the many processes where the environment forbids them to keep what they compile.
.venv/bin/uv pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes requirements.lock
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --offline --editable .

java=$(java_program)
major=$([ -x "$java" ] && java_major "$java" || true)
if [ -z "$major" ] || [ "$major" -lt 17 ]; then
    debian_package "openjdk-17-jdk-headless|openjdk-21-jdk-headless" \
        "Spark and Flink need Java 17 or later (found: ${major:-none}${JAVA_HOME:+ in JAVA_HOME})"
    if [ -n "${JAVA_HOME:-}" ]; then
        echo "setup: JAVA_HOME=$JAVA_HOME holds no Java 17 or later; unset it, or point it to one" >&2
        exit 1
    fi
fi

#!/usr/bin/env bash
# Build the jobs against Flink's own jars and print the path of their jar: examples/flink/build.sh [folder]
# Beside an installed wheel: with that environment's python3 first on PATH.
set -euo pipefail
folder=$(realpath -m "${1:-var/flink}")
checkout=$(realpath -m "$(dirname "$0")/../..")
python=$checkout/.venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" -P - "$folder" <<'PYTHON'
import sys
from pathlib import Path

from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import flink_distribution
from forescale.local.flink.example_job import example_job
from forescale.local.flink.java import find_java

try:
    print(example_job(find_java(), flink_distribution(), Path(sys.argv[1])))
except LocalFlinkError as error:
    sys.exit(f"error: {error}")
PYTHON

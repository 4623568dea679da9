#!/usr/bin/env bash
# Build the jobs against Flink's own jars and print the path of their jar: examples/flink/build.sh [folder]
set -euo pipefail
folder=$(realpath -m "${1:-var/flink}")
cd "$(dirname "$0")/../.."
exec .venv/bin/python - "$folder" <<'PYTHON'
import sys
from pathlib import Path

from forescale.local.flink.distribution import flink_distribution
from forescale.local.flink.errors import LocalFlinkError
from forescale.local.flink.example_job import example_job
from forescale.local.flink.java import find_java

try:
    print(example_job(find_java(), flink_distribution(), Path(sys.argv[1])))
except LocalFlinkError as error:
    sys.exit(f"error: {error}")
PYTHON

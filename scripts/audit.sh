#!/usr/bin/env bash
# Known vulnerabilities of what the lock pins, by pip-audit and the database osv.dev. Exits with 1 where there is one,
# with 2 where it could not be done, and with 0, in one line, where the database is not reached. A package index is not asked: one that is a mirror tells
# of no vulnerability at all, which would look like none.
set -uo pipefail
cd "$(dirname "$0")/.."
said=$(.venv/bin/uv tool run --quiet --from 'pip-audit==2.10.1' pip-audit --vulnerability-service osv --strict \
    --requirement requirements.lock --require-hashes --disable-pip --progress-spinner off --timeout 15 2>&1)
code=$?
if [ $code = 0 ] || grep -q '^Found [0-9]* known vulnerabilit' <<<"$said"; then
    printf '%s\n' "$said"
    exit $code
fi
if ! grep -qiE 'connection ?error|max retries|timed? ?out|failed to (resolve|fetch)|service ?error|dns error|error sending request' <<<"$said"; then
    printf '%s\n' "$said" >&2
    exit 2
fi
echo "audit: nothing was checked, as no database of vulnerabilities was reached: $(grep . <<<"$said" | tail -n 1 | cut -c1-160)"

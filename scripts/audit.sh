#!/usr/bin/env bash
# Known vulnerabilities of what the lock pins, by pip-audit and the database osv.dev. Exits with 1 where there is one,
# with 2 where the lock could not be read, and with 3, in one line, where nothing was checked, as pip-audit could not be
# fetched or the database was not reached. A package index is not asked: one that is a mirror tells of no vulnerability
# at all, which would look like none.
set -uo pipefail
cd "$(dirname "$0")/.."
audit() { .venv/bin/uv tool run --quiet --from 'pip-audit==2.10.1' pip-audit "$@" 2>&1; }
unchecked() {
    echo "audit: nothing was checked: $1: $(grep . <<<"$2" | tail -n 1 | cut -c1-160)"
    exit 3
}
said=$(audit --version) || unchecked "pip-audit could not be fetched" "$said"
said=$(audit --vulnerability-service osv --strict --requirement requirements.lock --require-hashes --disable-pip \
    --progress-spinner off --timeout 15)
code=$?
if [ $code = 0 ] || grep -q '^Found [0-9]* known vulnerabilit' <<<"$said"; then
    printf '%s\n' "$said"
    exit $code
fi
if grep -qiE 'connection ?error|max retries|timed? ?out|service ?error' <<<"$said"; then
    unchecked "the database osv.dev was not reached" "$said"
fi
printf '%s\n' "$said" >&2
exit 2

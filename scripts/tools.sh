#!/usr/bin/env bash
# What only some targets need beyond the set-up: `tools.sh jdk` a Java compiler for the Flink job, `tools.sh chromium` a
# browser for the tests that look at the report. Fails where a tool is neither there nor can be installed.
set -uo pipefail
cd "$(dirname "$0")/.."
source scripts/debian.sh

lacking=0
for tool in "$@"; do
    case $tool in
        jdk) command -v "${JAVA_HOME:+$JAVA_HOME/bin/}javac" >/dev/null || # in a subshell: the next tool is tried all the same
            (debian_package "openjdk-17-jdk-headless|openjdk-21-jdk-headless" "the Flink job needs a Java compiler") ;;
        chromium) command -v chromium >/dev/null ||
            (debian_package chromium "the report's tests need Chromium") ;;
        prometheus) command -v prometheus >/dev/null && command -v promtool >/dev/null ||
            (debian_package prometheus "the tests of Prometheus counters need a Prometheus server") ;;
        *) echo "tools: unknown tool $tool" >&2 && exit 2 ;;
    esac || lacking=1
done
exit $lacking

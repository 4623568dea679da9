#!/usr/bin/env bash
# What only some targets need beyond the set-up: `tools.sh jdk` a Java compiler for the Flink job, `tools.sh chromium` a
# browser for the tests that look at the report, `tools.sh kafka`, `tools.sh prometheus` and `tools.sh storm` the servers
# that tests start, `tools.sh flink_autoscaler` the library that a policy is compared with. Fails where a tool is neither
# there nor can be installed.
set -uo pipefail
cd "$(dirname "$0")/.."
source scripts/debian.sh

# server_jars kafka: copied beside and then renamed, so that a broken download leaves nothing that looks whole.
server_jars() {
    local version home partial
    version=$(sed -n "s:.*<$1.version>\(.*\)</$1.version>.*:\1:p" "tests/$1/pom.xml")
    home=$PWD/.cache/$1/$version
    [ -d "$home" ] && return
    command -v mvn >/dev/null || (debian_package maven "the $1 of the tests is fetched with Maven") || return
    partial=$home.partial-$$
    if mvn --quiet --batch-mode --file "tests/$1/pom.xml" dependency:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$partial"; then
        mv -T "$partial" "$home" 2>/dev/null || [ -d "$home" ] # another run may have been quicker
    else
        echo "tools: $1 $version could not be fetched with Maven; check the network and run again" >&2
        false
    fi
    local fetched=$?
    rm -rf "$partial"
    return $fetched
}

lacking=0
for tool in "$@"; do
    case $tool in
        jdk) command -v "${JAVA_HOME:+$JAVA_HOME/bin/}javac" >/dev/null || # in a subshell: the next tool is tried all the same
            (debian_package "openjdk-17-jdk-headless|openjdk-21-jdk-headless" "the Flink job needs a Java compiler") ;;
        chromium) command -v chromium >/dev/null ||
            (debian_package chromium "the report's tests need Chromium") ;;
        prometheus) command -v prometheus >/dev/null && command -v promtool >/dev/null ||
            (debian_package prometheus "the tests of Prometheus counters need a Prometheus server") ;;
        kafka | storm | flink_autoscaler) server_jars "$tool" ;;
        *) echo "tools: unknown tool $tool" >&2 && exit 2 ;;
    esac || lacking=1
done
exit $lacking

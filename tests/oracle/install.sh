#!/usr/bin/env bash
# Sets up the servers that the tests compare RedKite with: redis-server 8.0 (8.0.2 with the fixes of Debian 13.8) and
# valkey-server 8.1 of Debian trixie, valkey-server 9.1 of forky, which is not released yet, and redis-server 8.6 of
# experimental; and etcd, in which clusters keep their topology; beside a Debian of another release, without a chroot and without root. The packages come from the mirror that this machine's apt uses, through an apt
# whose sources, lists, cache and package database are in the target folder: the system's own stay as they are. apt checks the
# signatures of the release and its packages as ever. The programs run with the loader and the libraries of their own release.
#
#   tests/oracle/install.sh <folder>    leaves <folder>/bin/{redis,valkey}-{server,cli,benchmark} and redis-check-{rdb,aof},
#                                       <folder>/valkey9/bin/valkey-{server,cli}, <folder>/etcd/bin/etcd,
#                                       and <folder>/redis8.6/bin/redis-{server,cli,benchmark} and redis-check-{rdb,aof}
#
# The folders are kept between runs. Where the servers cannot be set up, one line says why, and the exit status is 1; it is 0 where
# only Valkey 9, etcd or Redis 8.6 cannot be.
set -euo pipefail

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

main() {
    local target=$1
    set_up "$target" "Redis 8 and Valkey 8" trixie "redis-server valkey-server" \
        "redis-server redis-cli redis-benchmark redis-check-rdb redis-check-aof valkey-server valkey-cli valkey-benchmark"

    # The small packages stand for systemd, which the programs do not need.
    (set_up "$target/valkey9" "Valkey 9" forky "valkey-server systemd-standalone-tmpfiles systemd-standalone-sysusers" "valkey-server valkey-cli") || true
    # What clusters keep their topology in.
    (set_up "$target/etcd" "etcd" trixie "etcd-server" "etcd") || true
    # Its libraries come from Debian's unstable release. Its version is not pinned: tests that need one look at what it is.
    (set_up "$target/redis8.6" "Redis 8.6" "sid experimental" "redis-server systemd-standalone-tmpfiles systemd-standalone-sysusers" \
        "redis-server redis-cli redis-benchmark redis-check-rdb redis-check-aof") || true
}

# set_up <folder> <what> <suites, the preferred one last> <packages> <programs, a server first>
set_up() {
    local target=$1 suite=$3 packages=$4 programs=$5 stamp
    what=$2
    stamp=$(cksum <"${BASH_SOURCE[0]}")
    if [ "$(cat "$target/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi

    local tool
    for tool in apt-get dpkg-deb; do
        command -v "$tool" >/dev/null || give_up "there is no $tool"
    done
    [ -r "$keyring" ] || give_up "there is no $keyring"
    local mirror
    mirror=$(find_mirror)
    [ -n "$mirror" ] || give_up "apt has no Debian mirror among its sources"

    mkdir -p "$(dirname "$target")"
    # The finished folder appears at once, so that a run which is interrupted leaves nothing that looks finished.
    work=$(mktemp -d "$(cd "$(dirname "$target")" && pwd)/oracle.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "oracle: setting up $what of Debian $suite"
    configure_apt "$mirror" "$suite"
    private_apt update "$mirror has no $suite that can be verified"
    private_apt "install --download-only -y --no-install-recommends -t ${suite##* } $packages" "$mirror does not deliver $packages"
    unpack || give_up "the packages of $suite cannot be unpacked"
    wrap "$programs"
    "$work/bin/${programs%% *}" --version >/dev/null 2>&1 || give_up "${programs%% *} of $suite does not run here"

    rm -rf "$work/apt"
    echo "$stamp" >"$work/stamp"
    rm -rf "$target"
    chmod 755 "$work"
    mv "$work" "$target"
}

# The archive that this machine's own release comes from: it has the other releases too.
find_mirror() {
    # shellcheck source=/dev/null
    (. /etc/os-release && apt-get update --print-uris 2>/dev/null |
        sed -n "s|^'\(.*/\)dists/${VERSION_CODENAME:-none}/InRelease'.*|\1|p" | head -n 1)
}

# configure_apt <mirror> <suites>
configure_apt() {
    local apt=$work/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    local suite
    for suite in $2; do echo "deb [signed-by=$keyring] $1 $suite main"; done >"$apt/sources.list"
    # Read after the system's configuration, whose proxies and certificates count, and whose hooks do not.
    cat >"$apt/apt.conf" <<CONF
#clear APT::Update;
#clear DPkg;
#clear Acquire::IndexTargets::deb::DEP-11;
Dir::State "$apt";
Dir::State::lists "lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Log "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "root";
CONF
}

# private_apt <arguments> <what it means if they fail>
private_apt() {
    # shellcheck disable=SC2086 # arguments without blanks
    if ! apt-get -c "$work/apt/apt.conf" -q $1 >"$work/apt/log" 2>&1 </dev/null; then
        sed 's/^/  /' "$work/apt/log" >&2
        give_up "$2"
    fi
}

unpack() {
    local package
    for package in "$work"/apt/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$work/tree" || return 1
    done
    rm -rf "$work/tree/usr/share" "$work/tree/var"
}

# A program with links to it asks under which name it was started, so the loader has to say it.
# wrap <programs>
wrap() {
    local loader libraries program
    # Below usr, whether or not this release has links to it from the root.
    loader=$(cd "$work" && find tree/usr -name 'ld-linux*.so.*' | head -n 1)
    libraries=$(cd "$work" && dirname "$(find tree/usr -name libc.so.6 | head -n 1)")
    mkdir "$work/bin"
    for program in $1; do
        cat >"$work/bin/$program" <<SCRIPT
#!/bin/sh
root=\${0%/*}/..
exec "\$root/$loader" --argv0 $program --library-path "\$root/$libraries" "\$root/tree/usr/bin/$program" "\$@"
SCRIPT
        chmod 755 "$work/bin/$program"
    done
}

give_up() {
    echo "oracle: not set up: $what: $1" >&2
    exit 1
}

main "$@"

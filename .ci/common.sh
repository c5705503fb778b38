# Sourced by the other scripts of this folder: the cache, the choice of a Rust, and packages of newer Debian suites
# without installing them.
# shellcheck shell=bash

set -euo pipefail
# Whatever root's own is: others read the cache and the files below /etc.
umask 022

# The server's user must be able to read the cache, which rules out root's home.
if [ -n "${WINDROW_CACHE:-}" ]; then
    cache=$WINDROW_CACHE
elif [ "$(id -u)" = 0 ]; then
    cache=/var/cache/windrow
else
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/windrow
fi

# The oldest Rust that builds windrow, as the manifest says.
required_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../Cargo.toml")

# at_least VERSION REQUIRED
at_least() {
    [ -n "$1" ] && [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# as_root COMMAND...
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "error: \`$*\` needs root, and there is no sudo" >&2
        return 1
    fi
}

# is_installed PACKAGE
is_installed() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

# say WHAT COMMAND...: installs something; what the command says is shown only where it fails.
say() {
    local log status=0
    echo "installing $1" >&2
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 || { status=$?; tail -n 20 "$log" >&2; }
    rm -f "$log"
    return "$status"
}

# need PACKAGE...: installs those packages of the distribution that are not there.
need() {
    local package missing=()
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        as_root apt-get -qq update >&2 || true
        say "${missing[*]}" as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-remove --no-install-recommends "${missing[@]}"
    fi
}

# rust_folder [build]: prints the folder of a cargo that is new enough and has all that `make test` calls, or can build; the
# machine's own comes first.
rust_folder() {
    local folder version what=${1:-}
    while read -r folder; do
        if ! [ -x "$folder/cargo" ] || ! [ -x "$folder/rustc" ]; then continue; fi
        version=$(PATH=$folder:$PATH "$folder/rustc" --version 2>/dev/null | awk '{ print $2 }') || continue
        at_least "$version" "$required_rust" || continue
        if [ "$what" != build ]; then
            PATH=$folder:$PATH "$folder/cargo" fmt --version >/dev/null 2>&1 || continue
            PATH=$folder:$PATH "$folder/cargo" clippy --version >/dev/null 2>&1 || continue
        fi
        printf '%s' "$folder"
        return 0
    done < <(
        type -ap cargo | sed 's,/[^/]*$,,' || true
        printf '%s\n' "${CARGO_HOME:-${HOME:-/root}/.cargo}/bin" /usr/bin "$cache/rust/bin" /var/cache/windrow/rust/bin
    )
    return 1
}

# Prints the MySQL server that was named or is installed. MariaDB answers to the same name and says who it is.
installed_mysql() {
    local program version
    for program in "${WINDROW_MYSQL_BIN:-/nonexistent}/mysqld" $(type -ap mysqld || true) /usr/sbin/mysqld; do
        version=$("$program" --version 2>/dev/null) || continue
        if ! grep -qi mariadb <<<"$version"; then
            printf '%s' "$program"
            return 0
        fi
    done
    return 1
}

# What packages depend on for their maintainer scripts, or to compile: nothing that runs out of an unpacked tree.
unneeded='^(adduser|debconf|debconf-.*|dpkg|init-system-helpers|install-info|libdebconfclient0|mawk|openssl|passwd|perl|perl-.*|libperl.*|netbase|logrotate|cron|cron-daemon-common|postgresql-common|postgresql-common-dev|postgresql-client-common|sensible-utils|ssl-cert|systemd|systemd-.*|sysvinit-utils|tar|ucf|locales|libc-bin|base-passwd|coreutils|libjson-perl|lsb-base|binutils.*|libbinutils|libctf.*|libgprofng.*|libsframe.*|cpp.*|gcc-[0-9]+|gcc-[0-9]+-x86.*|gcc-[0-9]+-aarch.*|gcc|gcc-x86.*|gcc-aarch.*|libgcc-[0-9]+-dev|libc6-dev|libc-dev-bin|libcrypt-dev|linux-libc-dev|rpcsvc-proto|lib(asan|lsan|tsan|ubsan|hwasan|itm|gomp|cc1|quadmath|isl|mpc|mpfr)[-0-9].*)$'

# The mirror of this machine's own Debian suite, never that of the security archive.
debian_mirror() {
    local found
    # shellcheck disable=SC2016 # apt replaces the names, not the shell.
    found=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 == "Debian" { print $2; exit }')
    if [ -z "$found" ]; then
        found=$(grep -rhoE '(https?|file|mirror\+[a-z]+):[^] ]*/debian/?( |$)' \
            /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | grep -v security | head -n 1 | tr -d ' ')
    fi
    printf '%s' "$found"
}

# Says why nothing can be unpacked here, and fails.
can_unpack() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
        echo "this machine has no apt"
    elif [ -z "$(debian_mirror)" ]; then
        echo "apt's sources name no Debian mirror"
    elif ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then
        echo "$cache cannot be written"
    else
        return 0
    fi
    return 1
}

# fetch WORK SUITE PACKAGE...: unpacks packages and the libraries they need into WORK/new/tree. They come from the
# machine's mirror with apt's signature check; apt works on a state of its own, in which nothing is installed.
fetch() {
    local work=$1 suite=$2 packages package folder
    shift 2
    mkdir -p "$work"/apt/{lists,archives}/partial "$work/debs"
    : >"$work/apt/status"
    cat >"$work/apt.conf" <<EOC
Dir::State "$work/apt";
Dir::State::Lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt";
Dir::Cache::archives "$work/apt/archives";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "2";
EOC
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $suite main" \
        >"$work/sources.list"
    apt-get -qq -c "$work/apt.conf" update -o APT::Update::Error-Mode=any
    packages=$(apt-get -qq -c "$work/apt.conf" install --print-uris "$@" |
        awk '{ sub(/_.*/, "", $2); print $2 }' | grep -vE "$unneeded")
    # shellcheck disable=SC2086 # One word a package.
    (cd "$work/debs" && apt-get -qq -c "$work/apt.conf" download $packages)

    mkdir -p "$work"/new/tree/usr/{bin,sbin,lib,lib64}
    for folder in bin sbin lib lib64; do
        ln -s "usr/$folder" "$work/new/tree/$folder"
    done
    for package in "$work"/debs/*.deb; do
        dpkg -x "$package" "$work/new/tree"
    done
    # Packages of older suites have files in folders that are links, which they are put in the place of.
    for folder in bin sbin lib lib64; do
        if [ ! -L "$work/new/tree/$folder" ]; then
            cp -a "$work/new/tree/$folder/." "$work/new/tree/usr/$folder/"
            rm -r "${work:?}/new/tree/$folder"
            ln -s "usr/$folder" "$work/new/tree/$folder"
        fi
    done
}

# The dynamic linker of an unpacked tree, relative to it.
loader_of() {
    (cd "$1" && find usr/lib usr/lib64 -name 'ld-linux*.so.*' | head -n 1)
}

# wrap TREE PROGRAM...: puts a wrapper in the place of each program (a path below the tree), which runs it with the
# tree's own C library wherever the tree stands. Programs find their files and each other relative to themselves.
wrap() {
    local tree=$1 program folder name up loader libraries
    shift
    loader=$(loader_of "$tree")
    libraries=$(cd "$tree" && echo usr/lib/*-linux-gnu*)
    for program in "$@"; do
        folder=$(dirname "$program")
        name=$(basename "$program")
        # shellcheck disable=SC2001 # A class of characters, not a string.
        up=$(sed 's,[^/][^/]*,..,g' <<<"$folder")
        mkdir -p "$tree/$folder/real"
        mv "$tree/$program" "$tree/$folder/real/$name"
        cat >"$tree/$program" <<EOW
#!/bin/sh
here=\${0%/*}
root=\$here/$up
exec "\$root/$loader" --library-path "\$root/$libraries" --argv0 "\$0" "\$here/real/$name" "\$@"
EOW
        chmod 755 "$tree/$program"
    done
}

# unpack NAME FUNCTION ARGUMENT...: calls `FUNCTION WORK ARGUMENT...` for a scratch folder beside the cache's entries,
# and makes what it left in WORK/new the entry NAME, whole or not at all. Says in $unpacked whether it did; as a
# condition it would be called without `set -e`.
unpack() {
    local name=$1 function=$2 work
    shift 2
    unpacked=
    work=$(mktemp -d "$cache/.$name.XXXXXX")
    chmod 755 "$work"
    # shellcheck disable=SC2064 # The folder of now.
    trap "rm -rf '$work'" EXIT
    "$function" "$work" "$@" >"$work/log" 2>&1 &
    if wait $!; then
        rm -rf "${cache:?}/$name"
        mv "$work/new" "$cache/$name"
        # shellcheck disable=SC2034 # The callers ask.
        unpacked=1
    else
        tail -n 5 "$work/log" >&2
    fi
    rm -rf "$work"
    trap - EXIT
}

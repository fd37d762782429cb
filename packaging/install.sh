#!/bin/sh
# Installs yore @VERSION@ for the user who runs it, without root:
#
#     install.sh [--prefix DIR] [--from FILE|URL]
#     install.sh [--prefix DIR] --uninstall
#
# It downloads the archive for this system and SHA256SUMS, checks the archive's sum, and puts the program into DIR/bin, man pages,
# completions and licences into DIR/share. DIR is ~/.local unless given. --from takes the archive from another place, which has
# SHA256SUMS beside it. Where minisign is installed and the release is signed, it also checks the signature.
#
# --uninstall takes yore out of the settings of agents, ends its background process, and removes exactly the files that were
# installed. The data stays.
set -eu

version='@VERSION@'
base_url='@BASE_URL@'
targets='@TARGETS@'
public_key='@PUBLIC_KEY@'

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

prefix=${HOME:?}/.local
from=
uninstall=
while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    esac
    case $1 in
        --prefix) prefix=$2 && shift 2 ;;
        --from) from=$2 && shift 2 ;;
        --uninstall) uninstall=yes && shift ;;
        *) fail "unknown option $1 (there are --prefix DIR, --from FILE|URL and --uninstall)" ;;
    esac
done
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
# A list of what was installed: files, and folders that were not there before, in the order in which they were made.
list=$prefix/share/doc/yore-memory/installed

remove_listed() {
    # Folders after what is in them; the list is in one of them.
    sed '1!G;h;$!d' "$list" >"$scratch/listed"
    rm -f "$list"
    while IFS= read -r path; do
        case $path in
            # A folder that holds something else stays.
            */) rmdir "$path" 2>/dev/null || true ;;
            *) rm -f "$path" ;;
        esac
    done <"$scratch/listed"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "$uninstall" ]; then
    [ -f "$list" ] || fail "yore was not installed in $prefix by this installer"
    if [ -x "$prefix/bin/yore" ]; then
        "$prefix/bin/yore" uninstall all || fail "yore could not be taken out of the settings of agents, so it was not removed"
        "$prefix/bin/yore" daemon stop >/dev/null 2>&1 || true
    fi
    remove_listed
    echo "yore was removed from $prefix. Its data stays (on Linux in ~/.local/share/yore)."
    exit 0
fi

# Copies a file or an address to a path.
fetch() {
    case $1 in
        *://*)
            if command -v curl >/dev/null; then
                curl -fsSL -o "$2" "$1" || fail "$1 cannot be downloaded"
            elif command -v wget >/dev/null; then
                wget -qO "$2" "$1" || fail "$1 cannot be downloaded"
            else
                fail "there is neither curl nor wget"
            fi
            ;;
        *) cp "$1" "$2" || fail "$1 cannot be read" ;;
    esac
}

if [ -z "$from" ]; then
    case $base_url in
        @* | '') fail "this installer was made without an address: use --from FILE|URL" ;;
    esac
    case $(uname -s) in
        Linux)
            # A system with glibc may have musl's loader as well (Debian's package musl), so glibc is asked first.
            system=unknown-linux-gnu
            if ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
                for loader in /lib/ld-musl-*; do
                    [ ! -e "$loader" ] || system=unknown-linux-musl
                done
            fi
            # A program for musl needs nothing of the system, so it runs where there is none for glibc.
            case " $targets " in
                *"-$system "*) ;;
                *) system=unknown-linux-musl ;;
            esac
            ;;
        Darwin) system=apple-darwin ;;
        *) fail "there is no archive for $(uname -s)" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) processor=x86_64 ;;
        aarch64 | arm64) processor=aarch64 ;;
        *) fail "there is no archive for $(uname -m)" ;;
    esac
    case " $targets " in
        *" $processor-$system "*) ;;
        *) fail "there is no archive for $processor-$system; there are: $targets" ;;
    esac
    from=$base_url/yore-$version-$processor-$system.tar.gz
fi
name=${from##*/}
case $from in
    */*) beside=${from%/*}/SHA256SUMS ;;
    *) beside=SHA256SUMS ;;
esac

fetch "$from" "$scratch/$name"
fetch "$beside" "$scratch/SHA256SUMS"
if [ -n "$public_key" ]; then
    if command -v minisign >/dev/null; then
        fetch "$beside.minisig" "$scratch/SHA256SUMS.minisig"
        minisign -Vqm "$scratch/SHA256SUMS" -P "$public_key" || fail "the signature of SHA256SUMS is wrong; nothing was installed"
    else
        echo "minisign is not installed: the sum is checked, its signature is not"
    fi
fi
wanted=$(while read -r sum file; do [ "$file" != "$name" ] || echo "$sum"; done <"$scratch/SHA256SUMS")
[ -n "$wanted" ] || fail "$beside does not list $name; nothing was installed"
if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$scratch/$name")
else
    found=$(shasum -a 256 "$scratch/$name") || fail "there is neither sha256sum nor shasum"
fi
[ "${found%% *}" = "$wanted" ] || fail "$name has another checksum than SHA256SUMS says; nothing was installed"

tar -xzf "$scratch/$name" -C "$scratch"
unpacked=$scratch/${name%.tar.gz}
"$unpacked/yore" --version >/dev/null || fail "the program does not run on this system; nothing was installed"

[ ! -f "$list" ] || remove_listed

# Makes a folder and lists those that were not there.
make_folder() {
    [ ! -d "$1" ] || return 0
    make_folder "$(dirname "$1")"
    mkdir "$1"
    printf '%s/\n' "$1" >>"$scratch/installed"
}

# A file that is in use is replaced as a whole, never written into.
put() {
    make_folder "$(dirname "$2")"
    cp "$1" "$2.new"
    mv -f "$2.new" "$2"
    printf '%s\n' "$2" >>"$scratch/installed"
}

put "$unpacked/yore" "$prefix/bin/yore"
for page in "$unpacked"/man/man1/*.1; do
    put "$page" "$prefix/share/man/man1/${page##*/}"
done
put "$unpacked/completions/yore.bash" "$prefix/share/bash-completion/completions/yore"
put "$unpacked/completions/_yore" "$prefix/share/zsh/site-functions/_yore"
put "$unpacked/completions/yore.fish" "$prefix/share/fish/vendor_completions.d/yore.fish"
for file in README.md LICENSE-MIT LICENSE-APACHE THIRD-PARTY-LICENSES.txt LICENSES-rust-library.html yore.cdx.json; do
    [ ! -f "$unpacked/$file" ] || put "$unpacked/$file" "$prefix/share/doc/yore-memory/$file"
done
mv "$scratch/installed" "$list"
# A daemon of an older version would go on with the old program.
"$prefix/bin/yore" daemon stop >/dev/null 2>&1 || true

echo "yore $version is installed: $prefix/bin/yore"
case :$PATH: in
    *":$prefix/bin:"*) echo "Next: yore up" ;;
    *) echo "$prefix/bin is not on your search path (PATH). Next: $prefix/bin/yore up" ;;
esac

#!/bin/sh
# Fetch the manuals that benches serve; and nginx, where it is missing.
#
#   install.sh FOLDER PACKAGE...
#
# The manuals are unpacked under FOLDER/docs and not installed: that needs no root, brings no dependencies and leaves the
# machine as it was. Only nginx is installed, and only by root. Files in FOLDER/debs name the versions served.
set -eu

folder=$1
shift

if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "the manuals are Debian packages: apt-get and dpkg-deb are needed to fetch and unpack them" >&2
    exit 1
fi

PATH="$PATH:/usr/local/sbin:/usr/sbin"
if ! command -v nginx >/dev/null && [ "$(id -u)" -eq 0 ]; then
    # A package of a server starts it; nothing may take the ports of the machine here.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nginx >&2
elif ! command -v nginx >/dev/null; then
    echo "missing: nginx; install it with apt-get, or run this once as root" >&2
    exit 1
fi

mkdir -p "$folder/debs" "$folder/docs"
cd "$folder/debs"
wanted=
for package in "$@"; do
    set -- "$package"_*.deb
    [ -e "$1" ] || wanted="$wanted $package"
done
if [ -n "$wanted" ]; then
    echo "fetching$wanted" >&2
    # A sandbox user of apt cannot write here, and says so on each file.
    apt-get download -q -o APT::Sandbox::User="$(id -un)" $wanted >&2
fi
for archive in *.deb; do
    package=${archive%%_*}
    [ -e "../docs/$package.$archive.done" ] && continue
    rm -rf "../docs/$package" ../docs/"$package".*.done
    mkdir -p "../docs/$package"
    dpkg-deb -x "$archive" "../docs/$package"
    touch "../docs/$package.$archive.done"
done

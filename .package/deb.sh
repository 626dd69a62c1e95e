#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# deb.sh BUILD VERSION [PACKAGER'S OPTION...]: a copy of the sources in BUILD/deb, with debian/ in its place, made a package.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd) version=$2
work=$(mkdir -p "$1/deb" && cd "$1/deb" && pwd)
shift 2
for tool in dpkg-buildpackage dh; do
	command -v $tool >/dev/null || {
		echo "deb: $tool is not here: install dpkg-dev and debhelper" >&2
		exit 1
	}
done
grep -qF "skidprof ($version)" "$top/.package/debian/changelog" || {
	echo "deb: .package/debian/changelog has no entry of version $version" >&2
	exit 1
}
rm -rf "$work"
mkdir -p "$work/skidprof-$version"
tar -C "$top" -cf - --exclude='./build*' --exclude=./.git --exclude='*.data' --exclude='*.data.old' . | tar -C "$work/skidprof-$version" -xf -
cp -a "$top/.package/debian" "$work/skidprof-$version/debian"
cd "$work/skidprof-$version"
# Nothing of the make that calls this, nor of a test's settings.
unset MAKEFLAGS MAKELEVEL MFLAGS CFLAGS CPPFLAGS LDFLAGS B V SAN COVERAGE
dpkg-buildpackage -us -uc -b "-j$(nproc)" "$@"
rm -rf "$work/skidprof-$version"

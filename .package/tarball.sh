#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# tarball.sh BUILD VERSION: BUILD/skidprof-VERSION-MACHINE-linux.tar.gz, which runs where there is a C library new enough.
# Of the libraries only the C library is taken from where it runs; libsmartcols, of which Debian has no static library, is
# put beside the program.  BUILD/portable/ has been linked by then (Makefile).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd) version=$2
build=$(cd "$1" && pwd)
name=skidprof-$version-$(uname -m)-linux
root=$build/tarball/$name
# The time of what is in it: the same sources, the same bytes.
date=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || date +%s)}

rm -rf "$build/tarball"
make -s -C "$top" B="$1" install DESTDIR="$build/tarball" PREFIX="/$name"
install -s "$build/portable/skidprof" "$root/bin/skidprof"
install -s -m 644 "$build/portable/skidsim.so" "$root/lib/skidprof/skidsim.so"
for f in skidblock skidreplay; do
	[ ! -e "$root/lib/skidprof/$f" ] || strip "$root/lib/skidprof/$f"
done
smartcols=$(ldd "$build/portable/skidprof" | sed -n 's|.*=> \(/[^ ]*/libsmartcols\.so\.[^ ]*\) .*|\1|p')
[ -n "$smartcols" ] || { echo 'tarball: libsmartcols was not found' >&2; exit 1; }
install -m 644 "$smartcols" "$root/lib/skidprof/"
install -d "$root/licenses"
cp "$top/LICENSE" "$root/licenses/skidprof"
# Where a distribution keeps them: the terms of what is linked in.
for p in libdw-dev libelf-dev libcapstone-dev libgsl-dev libzstd-dev libjansson-dev libiberty-dev libpfm4-dev \
	zlib1g-dev liblzma-dev libbz2-dev libncurses-dev libsmartcols1; do
	[ ! -e "/usr/share/doc/$p/copyright" ] || cp "/usr/share/doc/$p/copyright" "$root/licenses/$p"
done
# The newest version of the C library that anything in it asks for.
glibc=$(find "$root" -type f -exec objdump -T {} + 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
cat >"$root/INSTALL" <<END
skidprof $version for Linux on $(uname -m).

It needs the GNU C library ${glibc#GLIBC_} or newer, and nothing else.  Run bin/skidprof from here, or copy bin, lib and share to a
prefix such as /usr/local: they find each other.  'bin/skidprof doctor' says what this machine offers.

Of the system's it takes, where they are there:
  qemu-user         for 'skidprof truth' and 'record --pmu sim'; the emulator loads lib/skidprof/skidsim.so, so it must be
                    one that is dynamically linked and built with plugins (QEMU 7 and newer of most distributions)
  libdebuginfod     to ask servers for debug information (DEBUGINFOD_URLS)

Completion: share/bash-completion, share/zsh, share/fish.  Manual pages: man -M share/man skidprof.
The terms of skidprof and of the libraries linked into it are in licenses/.
END
find "$root" -exec touch -h -d "@$date" {} +
tar -C "$build/tarball" --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --format=gnu -cf - "$name" | gzip -9n >"$build/$name.tar.gz"
rm -rf "$build/tarball"
echo "$1/$name.tar.gz"

#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh: the hardware recorder on a real PMU driver: skidprof, built for arm64, in a Debian kernel under QEMU, which
# has a PMU whose counters are exact. What the guest recorded is checked here.
#
# The packages and the guest are kept in build-guest, the arm64 build in build-arm64.
set -u
cd "$(dirname "$0")/../.." || exit 1
guest=$PWD/build-guest
debian=$guest/debian root=$guest/root out=$guest/out arm64=build-arm64

for tool in qemu-system-aarch64 qemu-aarch64 aarch64-linux-gnu-gcc cpio python3 perf; do
	command -v $tool >/dev/null || {
		echo "skipped: $tool is not installed"
		exit 77
	}
done
tests/guest/fetch.sh "$debian" || exit

# Relative to here, as the path to here may have spaces.
sysroot=build-guest/debian/sysroot
cc=(aarch64-linux-gnu-gcc "--sysroot=$sysroot")
export PKG_CONFIG_SYSROOT_DIR=$sysroot
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig
make -s -j"$(nproc)" CC="${cc[*]}" B=$arm64 CFLAGS=-Werror $arm64/skidprof $arm64/skidreplay || exit 1
unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR

# needs FILE: the shared libraries it names, and those that they name, to the guest's /lib.
needs()
{
	local lib
	for lib in $(aarch64-linux-gnu-readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
		[ -e "$root/lib/$lib" ] && continue
		cp -L "$debian"/sysroot/{,usr/}lib/aarch64-linux-gnu/"$lib" "$root/lib/" 2>/dev/null
		[ -e "$root/lib/$lib" ] || {
			echo "run.sh: no $lib for the guest" >&2
			exit 1
		}
		needs "$root/lib/$lib" || exit 1
	done
}
# program FILE SOURCE TURNS FLAGS...: one of assembly, whose every instruction is known.
program()
{
	"${cc[@]}" -nostdlib -static "-DTURNS=$3" "${@:4}" "tests/guest/$2.S" -o "$1"
}

rm -rf "$root" "$out" && mkdir -p "$root/bin" "$root/lib" "$root/t" "$root/s" "$out" || exit 1
cp tests/guest/init tests/guest/tests "$root" || exit 1
cp "$debian/sysroot/bin/busybox" "$root/bin/" || exit 1
cp $arm64/skidprof $arm64/skidreplay "$root/t/" && aarch64-linux-gnu-strip -g "$root/t/skidprof" || exit 1
# The same without a replayer beside it, which steps.
ln "$root/t/skidprof" "$root/s/skidprof" || exit 1
cp "$debian/sysroot/usr/bin/perf" "$root/t/" || exit 1
needs $arm64/skidprof && needs "$root/t/perf" || exit 1
for name in probe companion; do
	"${cc[@]}" -O2 -Wall -Wextra -Werror -static tests/guest/$name.c -lpfm -o "$root/t/$name" || exit 1
done
# The replayer is held against this processor there.  What the archive needs, nothing else of it is used.
"${cc[@]}" -std=gnu11 -D_GNU_SOURCE -O1 -Wall -iquote . tests/e2e/replay_paths.c $arm64/libskidprof.a -o "$root/t/replay_paths" || exit 1
# The turns are known to check.py.
program "$root/t/turns" turns 100000 && program "$root/t/straight" straight 20000 && program "$root/t/tasks" tasks 100000 || exit 1
program "$guest/turns.short" turns 4 && program "$guest/straight.short" straight 4 || exit 1
program "$root/t/long" turns 2000000 && program "$root/t/calls" turns 1000000 -DCALLS || exit 1
program "$root/t/spin" turns 0xfffffffe || exit 1
tests/guest/boot.sh "$debian/vmlinuz" "$root" "$out" || exit 1
# shellcheck disable=SC2046 # a list of words
gcc -std=gnu11 -O2 -D_GNU_SOURCE -iquote . tests/e2e/perfdata_dump.c "$BUILD/libskidprof.a" $(pkg-config --libs libdw libelf libzstd) -o "$guest/dump" || exit 1
tests/guest/check.py "$guest"

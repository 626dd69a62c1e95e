#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make install and uninstall, the tarball and the Debian package: built, put into roots of their own, and run there.
# LONG=1 (make check-package) builds all twice, for the same bytes, and installs the package into a minimal Debian.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$TOP" || exit 1
B=${BUILD#"$TOP"/}
skip()
{
	n_tests=$((n_tests + 1))
	echo "ok $n_tests - $1 # SKIP $2"
}
quietly() { "$@" >"$SCRATCH/log" 2>&1 && return; tail -20 "$SCRATCH/log" | sed 's/^/# /'; return 1; }
files() { (cd "$1" && find . ! -type d | sort); }
ours="make --no-print-directory B=$B"
printf 'int main(void) { volatile unsigned x = 1; for (unsigned i = 0; i < 5000000; i++) x = x & 1 ? 3 * x + 1 : x >> 1; return 0; }' |
	gcc -x c -O2 -g -static - -o "$SCRATCH/spin" || exit 1

# Installed elsewhere, moved, and taken away again.
check 'make install with DESTDIR and PREFIX' quietly $ours install DESTDIR="$SCRATCH/a root" PREFIX=/opt/skid
check 'the program runs from there' quietly "$SCRATCH/a root/opt/skid/bin/skidprof" --version
check 'with what it needs beside it' sh -c '"$1" truth -q -o "$2" true && [ -s "$2" ]' sh "$SCRATCH/a root/opt/skid/bin/skidprof" "$SCRATCH/t"
n=$(files "$SCRATCH/a root" | wc -l)
check 'pages, cores and completion of three shells with it' test "$n" -gt 25
check 'nothing in it can be written by others' sh -c '[ -z "$(find "$1" -type f -perm /022)" ]' sh "$SCRATCH/a root"
check 'make uninstall' quietly $ours uninstall DESTDIR="$SCRATCH/a root" PREFIX=/opt/skid
check 'leaves no file' sh -c '[ -z "$(find "$1" ! -type d)" ] || { find "$1" ! -type d | sed "s/^/# /"; exit 1; }' sh "$SCRATCH/a root"

# needs ROOT FILE...: the files, and the shared libraries that they name and ROOT lacks, at their places.
needs()
{
	local root=$1 f lib
	shift
	for f; do
		for lib in $(ldd "$f" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*'); do
			mkdir -p "$root${lib%/*}" && cp -Ln "$lib" "$root$lib"
		done
	done
}
# in_root ROOT COMMAND...: with its own /proc, which the program finds itself by.
in_root()
{
	local root=$1
	shift
	mkdir -p "$root/proc" "$root/tmp" "$root/sys"
	timeout 300 unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" "$@"
}
# works ROOT SKIDPROF: record, report and truth there.
works()
{
	local root=$1 skidprof=$2
	mkdir -p "$root/tmp" && cp "$SCRATCH/spin" "$root/tmp/"
	check 'doctor runs there' sh -c '[ "$1" -le 1 ]' sh "$(in_root "$root" "$skidprof" doctor >"$SCRATCH/out" 2>&1; echo $?)"
	check 'and says what a recording takes' grep -q '^skidprof record PROGRAM' "$SCRATCH/out"
	check 'truth counts' quietly in_root "$root" "$skidprof" truth -o /tmp/t /tmp/spin
	check 'the simulated core records' quietly in_root "$root" "$skidprof" record --pmu sim -c 1000003 -o /tmp/s.data /tmp/spin
	quietly in_root "$root" "$skidprof" report --raw -i /tmp/s.data
	check 'and is reported' grep -qE '\bmain$' "$SCRATCH/log"
	if "$SKIDPROF" record --pmu clock -q -o "$SCRATCH/c.data" true 2>/dev/null; then
		check 'the clock records' quietly in_root "$root" "$skidprof" record --pmu clock -c 249989 -o /tmp/c.data /tmp/spin
		quietly in_root "$root" "$skidprof" report --raw -i /tmp/c.data
		check 'and is reported, too' grep -qE '\bmain$' "$SCRATCH/log"
	fi
}
rooted() { [ "$(id -u)" -eq 0 ] && mkdir -p "$SCRATCH/none/proc" && unshare --mount --pid --fork --mount-proc="$SCRATCH/none/proc" true 2>/dev/null; }

# The tarball, in a root with a C library and an emulator, and nothing else.
export SOURCE_DATE_EPOCH=1790000000
if [ -e /usr/lib/"$(gcc -print-multiarch)"/libdw.a ]; then
	check 'make tarball' quietly $ours tarball
	tarball=$(tail -1 "$SCRATCH/log")
	mkdir -p "$SCRATCH/bare/opt"
	check 'it has one folder, named as it is' sh -c '[ "$(tar -tzf "$1" | cut -d/ -f1 | sort -u)" = "$(basename "$1" .tar.gz)" ]' sh "$tarball"
	tar -C "$SCRATCH/bare/opt" -xzf "$tarball"
	at=/opt/$(basename "$tarball" .tar.gz)
	check 'the program asks for the C library and libsmartcols alone' sh -c \
		'! readelf -d "$1" | grep NEEDED | grep -vE "lib(c|m|smartcols)\.so|ld-linux"' sh "$SCRATCH/bare$at/bin/skidprof"
	check 'and the plugin for the C library' sh -c \
		'! readelf -d "$1" | grep NEEDED | grep -vE "lib(c|m)\.so|ld-linux"' sh "$SCRATCH/bare$at/lib/skidprof/skidsim.so"
	check 'it says which C library it needs' grep -qE 'GNU C library 2\.[0-9]+ or newer' "$SCRATCH/bare$at/INSTALL"
	if rooted; then
		mkdir -p "$SCRATCH/bare/usr/bin" "$SCRATCH/bare/bin"
		emulator=$(command -v "qemu-$(uname -m)")
		cp "$emulator" "$SCRATCH/spin" "$SCRATCH/bare/usr/bin/"
		needs "$SCRATCH/bare" "$emulator"
		libc=$(ldd "$SCRATCH/bare$at/bin/skidprof" | grep -oE '/[^ ]+/(libc|libm|ld-linux[^/ ]*)\.so[^ ]*')
		for f in $libc; do mkdir -p "$SCRATCH/bare${f%/*}" && cp -Ln "$f" "$SCRATCH/bare$f"; done
		works "$SCRATCH/bare" "$at/bin/skidprof"
	else
		skip 'the tarball in a root of its own' 'not root, or no namespaces'
	fi
	cp "$tarball" "$SCRATCH/first.tar.gz"
	check 'make tarball again' quietly $ours tarball
	check 'has the same bytes' cmp "$tarball" "$SCRATCH/first.tar.gz"
	rm -f "$tarball"
else
	skip 'the tarball' 'no static libraries here'
fi
unset SOURCE_DATE_EPOCH

# The package.
if command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null; then
	check 'make deb' quietly $ours deb
	deb=$(find "$BUILD/deb" -name 'skidprof_*.deb')
	if command -v lintian >/dev/null; then
		check 'lintian has nothing to say' quietly lintian --allow-root --fail-on error,warning,info --tag-display-limit 0 \
			--suppress-tags initial-upload-closes-no-bugs "$deb"
	else
		skip 'lintian' 'lintian is not installed'
	fi
	mkdir -p "$SCRATCH/deb"
	check 'it unpacks' dpkg-deb -x "$deb" "$SCRATCH/deb"
	for f in bin/skidprof lib/skidprof/skidsim.so share/man/man1/skidprof.1.gz share/bash-completion/completions/skidprof \
		share/zsh/vendor-completions/_skidprof share/fish/vendor_completions.d/skidprof.fish share/skidprof/cores/zen5.core; do
		check "it has $f" test -s "$SCRATCH/deb/usr/$f"
	done
	if rooted; then
		emulator=$(command -v "qemu-$(uname -m)")
		cp "$emulator" "$SCRATCH/deb/usr/bin/"
		needs "$SCRATCH/deb" "$emulator" "$SCRATCH/deb/usr/bin/skidprof" "$SCRATCH/deb/usr/lib/skidprof/skidsim.so"
		cp "$SCRATCH/spin" "$SCRATCH/deb/usr/bin/true"
		works "$SCRATCH/deb" /usr/bin/skidprof
	else
		skip 'the package in a root of its own' 'not root, or no namespaces'
	fi
else
	skip 'the package' 'no dpkg-buildpackage and debhelper here'
fi

[ -n "${LONG-}" ] || finish
# Again, elsewhere: the same sources give the same bytes.
check 'make deb in another folder' quietly sh -c 'mkdir -p "$1/else where" && tar -cf - --exclude="./build*" --exclude=./.git . | tar -C "$1/else where" -xf - &&
	make --no-print-directory -C "$1/else where" deb B=build' sh "$SCRATCH"
check 'has the same bytes' cmp "$deb" "$(find "$SCRATCH/else where/build/deb" -name 'skidprof_*.deb')"
if [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null; then
	check 'a minimal Debian' quietly debootstrap --variant=minbase bookworm "$SCRATCH/debian"
	cp "$deb" "$SCRATCH/debian/tmp/skidprof.deb"
	check 'installs the package' quietly chroot "$SCRATCH/debian" apt-get install -y /tmp/skidprof.deb
	works "$SCRATCH/debian" /usr/bin/skidprof
	check 'and takes it away' quietly chroot "$SCRATCH/debian" apt-get purge -y skidprof
	check 'all of it' sh -c '! find "$1" -path "*skidprof*" ! -path "*/tmp/*" ! -path "*/var/*" ! -path "*/proc/*" | grep .' sh "$SCRATCH/debian"
fi
finish

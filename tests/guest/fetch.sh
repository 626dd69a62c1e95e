#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# fetch.sh FOLDER: Debian's arm64 packages that the guest is made of, unpacked into FOLDER/sysroot, and FOLDER/vmlinuz.
#
# Nothing is installed: apt is given a state of its own with arm64 as its only architecture, and the machine's own sources.
# What is there is kept: a second run does nothing.  Exit status 77 where the packages can't be had.
set -u
dir=$1
# What skidprof is linked with (the libraries of the Makefile's BUILD_PACKAGES), the guest's shell, and perf.
packages=(libdw-dev libelf-dev libcapstone-dev libgsl-dev libzstd-dev libsmartcols-dev libjansson-dev
	libiberty-dev libpfm4-dev libncurses-dev busybox-static linux-perf)
stamp="$dir/stamp-$(cksum <"$0" | tr ' ' -)"
[ -e "$stamp" ] && exit 0

unavailable()
{
	echo "skipped: $*"
	exit 77
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable 'no apt-get here to fetch arm64 packages with'
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/sysroot" || exit 1
cat >"$dir/apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "5";
Dir::State "$dir/apt";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
END
: >"$dir/apt/status"
export APT_CONFIG=$dir/apt/apt.conf

# A source without arm64 packages is no reason to stop; one that is missed is, below.
apt-get update -qq >"$dir/apt/log" 2>&1
kernel=$(apt-cache depends linux-image-cloud-arm64 2>/dev/null | sed -n 's/.*Depends: //p' | head -1)
[ -n "$kernel" ] || unavailable "no arm64 packages in this machine's apt sources: $(tail -1 "$dir/apt/log")"
{
	apt-get install -y -qq -d --no-install-recommends "${packages[@]}" &&
		cd "$dir/apt/cache/archives" && apt-get download -qq "$kernel"
} >>"$dir/apt/log" 2>&1 || unavailable "arm64 packages can't be fetched: $(tail -1 "$dir/apt/log")"
for deb in "$dir"/apt/cache/archives/*.deb; do
	case $deb in
	*/linux-image-*) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/sysroot" --wildcards './boot/vmlinuz*' ;;
	*) dpkg -x "$deb" "$dir/sysroot" ;;
	esac || exit 1
done
mv "$dir"/sysroot/boot/vmlinuz* "$dir/vmlinuz" || exit 1
rm -rf "$dir/apt"
: >"$stamp"

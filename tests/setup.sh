#!/bin/sh
# Install the packages named on the command line that are missing, with apt.
set -u
missing=
for p in "$@"; do
	dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
hint="skidprof needs these packages: install them with your package manager and run make again:$missing"
if ! command -v apt-get >/dev/null 2>&1; then
	echo "No apt-get here. $hint" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "Not root, and no sudo. $hint" >&2
		exit 1
	fi
	sudo=sudo
fi
echo "Installing:$missing"
patience='-o Acquire::Retries=5 -o DPkg::Lock::Timeout=600'
# A source that can't be reached need not be the one that has them: what counts is whether they can be installed.
# shellcheck disable=SC2086 # lists of words
$sudo apt-get $patience update -qq
# shellcheck disable=SC2086
if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get $patience install -y -qq --no-install-recommends $missing >/dev/null; then
	echo "apt-get could not install them. $hint" >&2
	exit 1
fi

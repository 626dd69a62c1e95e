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
# shellcheck disable=SC2086 # a list of words
if ! { $sudo apt-get update -qq &&
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; }; then
	echo "apt-get could not install them. $hint" >&2
	exit 1
fi

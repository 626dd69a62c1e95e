#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A long recording costs no more memory than a short one, marks or not.  Its speed beside perf's is printed, not judged.
set -u
. "$TOP/tests/e2e/lib100.sh"
tool make
tool dump
cd "$SCRATCH" || exit 1

peak_kb() # COMMAND...
{
	python3 - "$@" <<'P'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
P
}
./make rounds.data 1000000 rounds
./make none.data 1000000
./make zstd.data 1000000 zstd rounds
rounds=$(peak_kb ./dump rounds.data read)
none=$(peak_kb ./dump none.data read)
zstd=$(peak_kb ./dump zstd.data read)
echo "# peak memory for 1e6 samples, 144 MB: with rounds $rounds kB, without $none kB, compressed $zstd kB"
# 4 MB of libraries, windows and two rounds of 1000 samples.
check "with rounds, a recording takes under 16 MB" [ "$rounds" -lt 16384 ]
check "compressed, it takes under 16 MB" [ "$zstd" -lt 16384 ]
# 64 MB held back, and as much again while sorting would be needed (24 bytes of index in 168 a sample).
check "without rounds, it takes under 128 MB" [ "$none" -lt 131072 ]
for file in rounds none zstd; do
	./dump $file.data counts | grep -v '^#' >counts
	check "all samples of $file.data are there" \
		cmp -s counts <(printf '500000 50001500000 %s\n' instructions:u cycles:u)
done

need_perf
user_s() # COMMAND...
{
	python3 - "$@" <<'P'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
P
}
ours=$(user_s ./dump rounds.data places)
theirs=$(user_s perf script -i rounds.data -F ip)
read -r n seconds _ < <(./dump rounds.data read)
echo "# $n records in $seconds s of CPU time; with places printed $ours s, perf script $theirs s"

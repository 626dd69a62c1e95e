#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One clear line for everything that can't be.
set -u
. "$TOP/tests/e2e/lib200.sh"

# says NAME STATUS TEXT COMMAND...: the status, one line on standard error, with the text in it
says()
{
	local name=$1 status=$2 text=$3 got
	shift 3
	"$@" >out 2>err
	got=$?
	[ $got -eq "$status" ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$text" err
	ok $? "$name"
	[ $got -eq "$status" ] || sed "s/^/# status $got: /" err
}

R=("$SKIDPROF" record --pmu sim)
says 'no program' 2 'which program' "${R[@]}"
says 'a missing program' 1 'no such program' "${R[@]}" nosuchprogram
says 'a program here but not in PATH' 1 'did you mean ./here' sh -c 'printf "#!/bin/sh\n" >here; chmod +x here; "$SKIDPROF" record --pmu sim here'
says 'a folder' 1 'folder' "${R[@]}" /tmp/
says 'a file without x' 1 'not executable' "${R[@]}" "$TOP/Makefile"
printf '#!/nonexistent/interpreter\n' >bad && chmod +x bad
says 'a script without interpreter' 1 '/nonexistent/interpreter' "${R[@]}" ./bad
echo 'no program at all' >text && chmod +x text
says 'a text file' 1 'neither an ELF program nor a script' "${R[@]}" ./text
echo good >kept.data
says 'a text file natively' 1 "record 'sh ./text'" "$SKIDPROF" record --pmu clock -o kept.data ./text
says 'a script without interpreter natively' 1 '/nonexistent/interpreter is missing' "$SKIDPROF" record --pmu clock -o kept.data ./bad
printf '#!/bin/sh\r\n' >crlf && chmod +x crlf
says 'a script of another system' 1 'ends in a carriage return' "$SKIDPROF" record --pmu clock -o kept.data ./crlf
[ "$(cat kept.data)" = good ]
ok $? 'an earlier recording is not lost to what cannot start'
says 'a folder to read' 1 'is a folder without a file "data"' "$SKIDPROF" report /tmp
says 'a second recording that is not there' 1 "recording of 'skidprof record -o FILE'" "$SKIDPROF" diff nosuchfile kept.data
says 'timed paths without bursts' 2 '--timed-bursts is of bursts' "$SKIDPROF" record --bursts 0 --timed-bursts 5 true
says 'a length of bursts, and none' 2 '--burst-length is of bursts' "$SKIDPROF" record --bursts 0 --burst-length 500 true
says 'timed paths of what counts anyway' 2 '--timed-bursts: the simulated core counts' "${R[@]}" --timed-bursts auto true
says 'a core to be held against that is none' 2 "no core 'nope'; there are" "$SKIDPROF" calibrate --against nope
says 'an unknown event' 2 "did you mean 'branches'" "${R[@]}" -e instructions,branchs true
says 'a group on the simulated core' 2 'takes no braces' "${R[@]}" -e '{cycles,instructions}:S' true
says 'an event twice' 2 'twice' "${R[@]}" -e cycles,cycles true
says 'too many events' 2 'programmable counter' "${R[@]}" --rotate 0 -e instructions,cycles,branches,taken-branches,cond-branches,calls,returns,loads,stores,fp-scalar,fp-vector,branch-misses,l1d-misses true
says 'an unknown core' 2 'did you mean' "${R[@]}" --core zen6 true
mkdir -p acore && touch bcore
says 'a folder for a core' 2 "'acore' is a folder" "${R[@]}" --core acore true
says 'a path of a folder' 2 './acore is a folder: name a core file in it' "${R[@]}" --core ./acore true
says 'a file without its folder' 2 'write ./bcore' "${R[@]}" --core bcore true
says 'exact counts to a place that is not there' 1 'choose another place with --truth' "${R[@]}" --truth /nonexistent/t true
says 'an unknown source' 2 'no source of samples' "${R[@]}" --pmu hardwere true
says 'a period that is none' 2 '-c' "${R[@]}" -c much true
says 'a folder that is not there' 1 '/nonexistent/x.data' "${R[@]}" -o /nonexistent/x.data true
says 'a folder as output' 1 'folder' "${R[@]}" -o / true
says 'an unknown option' 2 'did you mean --truth' "${R[@]}" --trutth x true
cp /bin/true elf32 && printf '\1' | dd of=elf32 bs=1 seek=4 conv=notrunc 2>/dev/null
says 'a 32-bit program' 1 '32-bit' "${R[@]}" ./elf32
cp /bin/true riscv && printf '\363\0' | dd of=riscv bs=1 seek=18 conv=notrunc 2>/dev/null
says 'a foreign program' 1 'another machine' "${R[@]}" ./riscv
says 'no emulator' 1 'qemu-user' env PATH=/nonexistent "$SKIDPROF" record --pmu sim /bin/true
says 'truth without program' 2 'which program' "$SKIDPROF" truth
says 'truth to a place that is not there' 1 '/nonexistent/t' "$SKIDPROF" truth -q -o /nonexistent/t /bin/true

# Who is not root: what runs with another's rights, what may not be read, whose process it is.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all)
if [ "$(id -u)" -eq 0 ] && chmod 777 . && "${nobody[@]}" test -x "$SKIDPROF" -a -w . 2>/dev/null &&
	"${nobody[@]}" "$SKIDPROF" record -q --pmu clock --bursts 0 -o nobody.data true 2>/dev/null; then
	cp /bin/true suid && chmod 4755 suid
	cp /bin/true closed && chmod 711 closed
	for way in "suid:./suid runs with another user's or group's rights" 'closed:./closed may be run, but not be read'; do
		"${nobody[@]}" "$SKIDPROF" record --pmu clock -o none.data "./${way%%:*}" >out 2>err
		check "no samples of a program whose counters the kernel closes (${way%%:*})" grep -qF \
			"no samples: ${way#*:}, so the kernel closes its counters as it begins: record it as root" err
		check "nor advice that doesn't help (${way%%:*})" sh -c '! grep -q "record for longer" err'
	done
	cp /bin/true theirs && chown 65534 theirs && chmod 4755 theirs
	"$SKIDPROF" record --pmu clock -o none.data ./theirs >out 2>err
	check "nor as root of another's" grep -qF "./theirs runs with another user's or group's rights, so the kernel closes its counters as it begins: record it while it runs (-p PID)" err
	"${nobody[@]}" "$SKIDPROF" truth -o none.truth ./suid >out 2>err
	check 'a program that the emulator gives no other rights' sh -c \
		'grep -q "warning: ./suid runs with your rights, not with those its file gives" err && [ -s none.truth ]'
	says "another user's process" 1 'process 1 belongs to another user; record as that user or as root' \
		"${nobody[@]}" "$SKIDPROF" record --pmu clock -q -p 1 --duration 1 -o none.data
fi

for pmu in clock sim; do
	says "a device ($pmu)" 1 '/dev/full: is no regular file; choose another name with -o' \
		"$SKIDPROF" record --pmu $pmu -o /dev/full sh -c 'echo ran >ran'
	check "is refused before the program runs ($pmu)" test ! -e ran
	"$SKIDPROF" record --pmu $pmu -o - /bin/true 2>err >out
	check "standard output has its name ($pmu)" grep -q 'bytes in standard output' err
done
for signal in INT TERM; do
	timeout -s $signal 0.02 "$SKIDPROF" truth -o early.truth sleep 5 2>err
	check "no emulator is blamed for what a signal did ($signal)" sh -c '! grep -qE "plugins|socket" err && { [ ! -s early.truth ] || grep -q "until a signal ended it" err; }'
done
exit 0

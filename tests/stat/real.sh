#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# real.sh FOLDER: open programs from Debian's source packages, built -O2 -g into FOLDER, with inputs of a few 1e8 instructions.
#
# Prints a line for each program that could be built: its group (real: looked at while correct/ was written; unseen: not),
# its name, then its command.  What could not be fetched or built is named on standard error, and is missing from the
# list.  Sources come from where the machine's own packages come from.
set -u
dir=${1:?real.sh FOLDER}
mkdir -p "$dir/apt/parts" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/src" || exit 1
cd "$dir" || exit 1
dir=$PWD

say() { echo "real.sh: $*" >&2; }

# The machine's package sources, asked for source packages, in files of our own.
prepare_apt()
{
	sed 's/^Types: *deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >apt/parts/debian.sources 2>/dev/null ||
		sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/parts/debian.list
	cat >apt/conf <<C
Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "$dir/apt/parts"; Dir::State::Lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache"; Acquire::Languages "none"; APT::Sandbox::User "root";
C
	APT_CONFIG=$dir/apt/conf timeout 120 apt-get update -qq
}

# fetch PACKAGE: unpack its upstream source below src/, and print the folder.
fetch()
{
	(cd src && APT_CONFIG=$dir/apt/conf timeout 120 apt-get source -qq --download-only "$1" >/dev/null 2>&1)
	local tar
	tar=$(find src -maxdepth 1 -name "${1}_*.orig.tar.*z" | head -1)
	[ -n "$tar" ] || { say "$1: the source package could not be fetched" && return 1; }
	mkdir -p "src/$1" && tar xf "$tar" -C "src/$1" --strip-components=1 && echo "src/$1"
}

# made NAME PROGRAM COMMAND...: the program was built: remember its command.
made()
{
	local name=$1 program=$2
	shift 2
	[ -x "$program" ] || { say "$name: it did not build; see $dir/$name.log" && return; }
	echo "$group $name $*" >>programs
}

build_gzip()
{
	(cd "$1" && ./configure -q CFLAGS='-O2 -g' && make -j2 -s) >gzip.log 2>&1
	made gzip "$1/gzip" "$dir/$1/gzip" -c "$dir/text"
}
build_xz()
{
	(cd "$1" && ./configure -q --disable-shared --disable-nls --disable-doc CFLAGS='-O2 -g' && make -j2 -s) >xz.log 2>&1
	made xz "$1/src/xz/xz" "$dir/$1/src/xz/xz" -1 -c "$dir/text"
}
build_lua()
{
	rm -f "$1/src/luac.c"
	gcc -O2 -g -DLUA_COMPAT_5_3 -DLUA_USE_POSIX "$1"/src/*.c -o "$1/run" -lm >lua.log 2>&1
	cat >work.lua <<'L'
for round = 1, 3 do
local words, total = {}, 0
for i = 1, 60000 do
  local key = "k" .. (i * 7919 % 4099)
  words[key] = (words[key] or 0) + #key
end
local keys = {}
for k, v in pairs(words) do keys[#keys + 1] = k; total = total + v end
table.sort(keys)
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local text = table.concat(keys, " "):gsub("k(%d)", function(d) return "q" .. d end)
for w in text:gmatch("q%d+") do total = total + tonumber(w:sub(2)) end
print(total, fib(23), #text)
end
L
	made lua "$1/run" "$dir/$1/run" "$dir/work.lua"
}
build_sqlite()
{
	(cd "$1" && ./configure -q --disable-tcl && make -s sqlite3.c shell.c &&
		gcc -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION sqlite3.c shell.c -o run -lm) >sqlite.log 2>&1
	cat >work.sql <<'S'
CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
  INSERT INTO t SELECT i, i * 7919 % 1009, 'row ' || (i * 31 % 977) FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(length(c)) FROM t WHERE b BETWEEN 100 AND 700;
SELECT c, count(*) FROM t GROUP BY c ORDER BY 2 DESC, 1 LIMIT 5;
SELECT max(x.a) FROM t x JOIN t y ON x.b = y.b WHERE y.a < 900;
S
	made sqlite "$1/run" "$dir/$1/run" -batch -init "$dir/work.sql" :memory: .quit
}
build_svm()
{
	g++ -O2 -g "$1/svm-train.c" "$1/svm.cpp" -o "$1/svm-train" >svm.log 2>&1
	made svm-train "$1/svm-train" "$dir/$1/svm-train" -q -c 10 -v 40 "$dir/$1/heart_scale"
}

build_bzip2()
{
	make -C "$1" -j2 -s bzip2 CFLAGS='-O2 -g -D_FILE_OFFSET_BITS=64' >bzip2.log 2>&1
	made bzip2 "$1/bzip2" "$dir/$1/bzip2" -c "$dir/text"
}
build_zstd()
{
	make -C "$1/programs" -j2 -s zstd CFLAGS='-O2 -g' HAVE_THREAD=0 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 >zstd.log 2>&1
	made zstd "$1/programs/zstd" "$dir/$1/programs/zstd" -9 -q -c "$dir/text"
}
build_mawk()
{
	(cd "$1" && ./configure -q CFLAGS='-O2 -g' && make -s) >mawk.log 2>&1
	cat >work.awk <<'A'
{ for (i = 1; i <= NF; i++) { n[$i]++; if ($i ~ /^[a-m]+r/) { sub(/r/, "R", $i); hits++ } } length0 += length($0) }
END { for (w in n) if (n[w] > most) { most = n[w]; word = w } print hits, length0, word, most }
A
	made mawk "$1/mawk" "$dir/$1/mawk" -f "$dir/work.awk" "$dir/text"
}

# Text to compress: words of a small vocabulary in an order of their own.
awk 'BEGIN { s = 12345; for (i = 0; i < 400000; i++) { s = (s * 16807) % 2147483647; printf "%s%s", substr("therefore which would have been another while others could never again", 1 + s % 60, 2 + s % 9), i % 12 ? " " : "\n" } }' >text
: >programs
prepare_apt || { say 'no source packages here' && exit 1; }
for p in real:gzip:gzip real:xz-utils:xz real:lua5.4:lua real:sqlite3:sqlite real:libsvm:svm \
	unseen:bzip2:bzip2 unseen:libzstd:zstd unseen:mawk:mawk; do
	IFS=: read -r group package build <<<"$p"
	folder=$(fetch "$package") && "build_$build" "$folder"
done
cat programs

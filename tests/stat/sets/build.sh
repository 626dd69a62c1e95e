#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# build.sh FOLDER SET: the open programs of one set (see programs), built -O2 -g below FOLDER from Debian's source packages.
#
# FOLDER/SET/NAME/program is the program, .../command its words, a line each, and .../stdin what it reads, if it does.  What
# could not be fetched or built is named on standard error and in FOLDER/SET/missing.  Libraries are driven by the small programs of
# drivers/.  gcc and clang take turns.  What is there is kept, so a run that was stopped goes on.
set -u
dir=${1:?build.sh FOLDER SET} set=${2:?build.sh FOLDER SET}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
mkdir -p "$dir/apt/parts" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/packages" "$dir/$set" || exit 1
cd "$dir" || exit 1
dir=$PWD in=$PWD/in
: >"$set/missing"

say() { echo "build.sh: $*" >&2; }

# The machine's package sources, asked for source packages too, in files of our own.
prepare_apt()
{
	sed 's/^Types: *deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources >apt/parts/debian.sources 2>/dev/null ||
		sed -n 'p; s/^deb /deb-src /p' /etc/apt/sources.list >apt/parts/debian.list
	cat >apt/conf <<C
Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "$dir/apt/parts"; Dir::State::Lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache"; Acquire::Languages "none"; APT::Sandbox::User "root";
C
	APT_CONFIG=$dir/apt/conf timeout 120 apt-get update -qq
}

# unpack PACKAGE FOLDER: its upstream source.
unpack()
{
	local tar
	(cd packages && APT_CONFIG=$dir/apt/conf timeout 120 apt-get source -qq --download-only "$1" >/dev/null 2>&1)
	tar=$(find packages -maxdepth 1 -name "${1}_*.orig.tar.*z" | head -1)
	[ -n "$tar" ] && mkdir -p "$2" && tar xf "$tar" -C "$2" --strip-components=1
}

# crate NAME [--cfg ... --extern ...]: compile a crate from its Debian package, which is its source, into $work.
crate()
{
	local name=$1 src edition lib
	shift
	[ -n "$(find "$dir/packages" -name "librust-$name-dev_*.deb")" ] ||
		(cd "$dir/packages" && APT_CONFIG=$dir/apt/conf timeout 120 apt-get download -qq "librust-$name-dev" >/dev/null 2>&1)
	dpkg-deb -x "$(find "$dir/packages" -name "librust-$name-dev_*.deb" | head -1)" "$work/x" || return 1
	src=$(find "$work/x/usr/share/cargo/registry" -maxdepth 1 -name "${name//-/?}-[0-9]*" | head -1)
	edition=$(sed -n 's/^edition = "\(.*\)"/\1/p' "$src/Cargo.toml" | head -1)
	lib=$src/src/lib.rs
	OUT_DIR=$work "$rustc" --edition "${edition:-2015}" -C opt-level=2 -g --cap-lints allow --crate-type rlib --crate-name "${name//-/_}" \
		-L "$work" --out-dir "$work" "$@" "$lib"
}

# rust DRIVER CRATE...
rust()
{
	local driver=$1 externs=() name
	shift
	for name; do
		externs+=(--extern "${name//-/_}=$work/lib${name//-/_}.rlib")
	done
	"$rustc" --edition 2021 -C opt-level=2 -g -L "$work" "${externs[@]}" "$here/drivers/$driver.rs" -o program
}

c() { "$CC" -O2 -g -w -std=gnu11 -o program "$@"; }
cxx() { "$CXX" -O2 -g -w -std=gnu++14 -o program "$@"; }
# runs WORD...: the command to record.
runs() { printf '%s\n' "$work/program" "$@" >./command; }
# phases PLAN: see drivers/phases.c.
phases() { c -DPLAN="$1" "$here/drivers/phases.c" && runs; }
# built PROGRAM: what a makefile made.
built() { cp "$1" program; }
configured() { ./configure -q CC="$CC" CXX="$CXX" CFLAGS='-O2 -g -w' CXXFLAGS='-O2 -g -w' && make -s CFLAGS='-O2 -g -w' CXXFLAGS='-O2 -g -w'; }

# Each in its source folder s below $work, which holds what it makes.
build_acme() { c s/src/{acme,alu,cliargs,cpu,dynabuf,encoding,flow,global,input,macro,mnemo,output,platform,pseudoopcodes,section,symbol,tree,typesystem}.c -lm && runs -f plain -o "$work/out" "$in/a65.acme"; }
build_byacc() { (cd s && configured) && built s/yacc && runs -o "$work/out.c" "$in/y"; }
build_catdoc() { (cd s && ./configure -q CC="$CC" CFLAGS='-O2 -g -w' && make -s -C src) && built s/src/catdoc && runs -a -w -s cp1252 -d utf-8 "$in/rtf"; }
build_cliquer() { c s/cl.c s/cliquer.c s/graph.c s/reorder.c -lm && runs -q "$in/graph"; }
build_clustalw() { (cd s && configured) && built s/src/clustalw2 && runs -quiet -infile="$in/protein" -outfile="$work/out"; }
build_clzip() { c -DPROGVERSION='"1.13"' s/*.c && runs -2 -c "$in/text"; }
build_cmark()
{
	printf '#define HAVE_STDBOOL_H\n#define HAVE___BUILTIN_EXPECT\n#define HAVE___ATTRIBUTE__\n#define CMARK_ATTRIBUTE(l) __attribute__(l)\n#define CMARK_INLINE inline\n#include <stdbool.h>\n' >config.h
	printf '#define CMARK_VERSION 1\n#define CMARK_VERSION_STRING "1"\n' >cmark_version.h
	printf '#define CMARK_EXPORT\n#define CMARK_NO_EXPORT\n' >cmark_export.h
	c -I. -Is/src s/src/*.c && runs "$in/md"
}
build_discount() { (cd s && ./configure.sh --with-cc="$CC -O2 -g -w" && make -s) && built s/markdown && runs "$in/md"; }
build_duktape() { c -Is/src -Is/examples/cmdline s/src/duktape.c "$here/drivers/duktape.c" -lm && runs "$in/js"; }
build_expat()
{
	c -DHAVE_MEMMOVE -DXML_CONTEXT_BYTES=1024 -DXML_NS -DXML_DTD -DXML_GE=1 -DHAVE_GETRANDOM -DBYTEORDER=1234 -DXML_DEV_URANDOM -DPACKAGE_STRING='"expat"' \
		-Is/expat/lib s/expat/lib/xml{parse,role,tok}.c "$here/drivers/expat.c" && runs "$in/xml" 3
}
build_exuberant-ctags() { CC=gcc && (cd s && configured) && built s/ctags && runs -f "$work/out" --languages=c --language-force=c "$in/c"; }
build_f2c()
{
	(cd s/src && make -s -f makefile.u CC="$CC" CFLAGS='-O2 -g -w' f2c) && built s/src/f2c && runs -d"$work" -P "$in/f.f"
}
build_fasttree() { c s/fasttree.c -lm && runs -nt -quiet -nopr -nosupport "$in/dna.aln"; }
build_gperf() { (cd s && ./configure -q CXX="$CXX" CXXFLAGS='-O2 -g -w' && make -s -C lib && make -s -C src) && built s/src/gperf && runs "$in/keys"; }
build_html2text()
{
	printf '#include <memory>\nusing std::auto_ptr;\n' >memory.h
	(cd s && ./configure >/dev/null && make -s CXX="$CXX" CXXFLAGS="-O2 -g -w -std=gnu++98 -include $work/memory.h" LDFLAGS=) && built s/html2text && runs "$in/html"
}
build_jbigkit() { c -Is/libjbig s/libjbig/jbig.c s/libjbig/jbig_ar.c s/pbmtools/pbmtojbg.c && runs "$in/pbm" "$work/out"; }
build_kissfft() { c -Is s/kiss_fft.c s/kfc.c s/kiss_fftnd.c s/kiss_fftr.c "$here/drivers/kissfft.c" -lm && runs 25; }
build_lame() { (cd s && ./configure -q --disable-shared --disable-decoder --disable-gtktest CC="$CC" CFLAGS='-O2 -g -w' && make -s -C mpglib && make -s -C libmp3lame && make -s -C frontend lame) && built s/frontend/lame && runs --quiet -m m "$in/wav" "$work/out"; }
build_libdeflate() { c -Is -Is/programs -D_FILE_OFFSET_BITS=64 -D_GNU_SOURCE s/lib/*.c s/lib/x86/*.c "$here/drivers/libdeflate.c" && runs "$in/text" 2; }
build_libgsm() { c -DNeedFunctionPrototypes=1 -DSASR -DWAV49 -Is/inc s/src/{add,code,decode,gsm_create,gsm_decode,gsm_destroy,gsm_encode,gsm_option,long_term,lpc,preprocess,rpe,short_term,table}.c "$here/drivers/gsm.c" && runs "$in/raw"; }
build_liblbfgs() { c -DHAVE_CONFIG_H=0 -UHAVE_CONFIG_H -Is/include s/lib/lbfgs.c "$here/drivers/lbfgs.c" -lm && runs 400; }
build_liblinear() { cxx s/linear.cpp s/tron.cpp -x c++ s/train.c -x none -lblas 2>/dev/null || cxx s/linear.cpp s/tron.cpp s/train.c "$here/drivers/blas.cc" || return 1; runs -q -s 0 -v 5 "$in/svm"; }
build_libyaml() { c -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"' -Is/include s/src/*.c s/tests/run-parser.c && runs "$in/yaml"; }
build_lz4() { c -Is/lib s/lib/*.c s/programs/{bench,datagen,lz4cli,lz4io}.c -pthread && runs -9 -q -c "$in/text.small"; }
build_lzo2() { CC=gcc && (cd s && ./configure -q CC="$CC" CFLAGS='-O2 -g -w' && make -s src/liblzo2.la) && c -Is/include s/examples/lzopack.c s/src/.libs/liblzo2.a && runs -9 "$in/text.long" "$work/out"; }
build_md4c() { c -DMD_VERSION_MAJOR=0 -DMD_VERSION_MINOR=4 -DMD_VERSION_RELEASE=8 -Is/src s/src/*.c s/md2html/*.c && runs --github "$in/md"; }
build_minisat2() { CXX=g++ && cxx -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -std=gnu++98 -fpermissive -Is s/minisat/core/*.cc s/minisat/utils/*.cc -lz && runs -verb=0 "$in/cnf.more"; }
build_mujs() { c s/one.c s/main.c -lm && runs "$in/js"; }
build_nauty() { (cd s && ./configure -q CC="$CC" CFLAGS='-O2 -g -w' && make -s geng CFLAGS='-O2 -g -w') && built s/geng && runs -q -u 8; }
build_ncompress() { c -DNOFUNCDEF -DUTIME_H -DDIRENT s/compress42.c && runs -c -f "$in/text.long"; }
build_original-awk() { (cd s && bison -d awkgram.y -o awkgram.tab.c && $CC -w maketab.c -o maketab && ./maketab awkgram.tab.h >proctab.c) && c -Is s/{awkgram.tab,b,main,proctab,tran,lib,run,lex}.c -lm && runs -f "$in/awk" "$in/text.small"; }
build_par() { c s/{buffer,charset,errmsg,par,reformat}.c && runs 60j && cp "$in/lines" stdin; }
build_pasmo() { (cd s && configured) && built s/pasmo && runs "$in/z80" "$work/out"; }
build_phalanx() { (cd s && make -s CC="$CC" CFLAGS='-O2 -g -w') && built s/phalanx && runs -c0 -t1000 -b- -l- -o- bench; }
build_phases1() { phases 1; }
build_phases2() { phases 2; }
build_phases3() { phases 3; }
build_phases4() { phases 4; }
build_picosat() { c -DNDEBUG -DTRACE -Is s/app.c s/main.c s/picosat.c "$here/drivers/picosat_config.c" && runs -q "$in/cnf"; }
build_prodigal() { c s/*.c -lm && runs -q -i "$in/genome" -o "$work/out"; }
build_pugixml() { cxx -Is/src s/src/pugixml.cpp "$here/drivers/pugixml.cc" && runs "$in/xml" 3; }
build_qhull() { c -Is/src s/src/libqhull_r/*.c s/src/qhull/unix_r.c -lm && runs d Qt s TI "$in/points"; }
build_rapidjson() { cxx -Is/include "$here/drivers/rapidjson.cc" && runs "$in/json" 2; }
build_snappy() { sed 's/\${PROJECT_VERSION_[A-Z]*}/1/; s/@HAVE_SYS_UIO_H_01@/1/; s/\${HAVE_SYS_UIO_H_01}/1/' s/snappy-stubs-public.h.in >s/snappy-stubs-public.h; cxx -DHAVE_BUILTIN_CTZ=1 -DHAVE_BUILTIN_EXPECT=1 -Is s/snappy{,-sinksource,-stubs-internal}.cc "$here/drivers/snappy.cc" && runs "$in/text.long" 4; }
build_sparse() { (cd s && make -s CC="$CC" CFLAGS='-O2 -g -w' HAVE_SQLITE=no HAVE_LIBXML=no HAVE_GTK=no HAVE_LLVM=no sparse) && built s/sparse && runs -w "$in/c"; }
build_tinyscheme() { cp s/init.scm . && c -DUSE_DL=0 -DUSE_INTERFACE=1 -DSTANDALONE=1 -DInitFile="\"$work/init.scm\"" s/scheme.c -lm && runs "$in/scm"; }
build_tinyxml2() { cxx -Is s/tinyxml2.cpp "$here/drivers/tinyxml2.cc" && runs "$in/xml" 2; }
build_tre() { (cd s && ./configure -q --disable-shared --disable-nls CC="$CC" CFLAGS='-O2 -g -w' && make -s -C lib && make -s -C src) && built s/src/agrep && runs -2 -c "ramolita|kusobe" "$in/text.small"; }
build_unrtf() { (cd s && configured) && built s/src/unrtf && runs -P "$work/s/outputs" --html "$in/rtf"; }
build_voro++() { cxx -Is/src s/src/voro++.cc s/src/cmd_line.cc && runs 0 1 0 1 0 1 "$in/cells"; }
build_xa() { (cd s && make -s CC="$CC" CFLAGS='-O2 -g -w' xa) && built s/xa && runs -o "$work/out" "$in/a65"; }
build_yajl() { mkdir -p yajl && cp s/src/api/*.h yajl && sed 's/\${[A-Z_]*}/2/' s/src/api/yajl_version.h.cmake >yajl/yajl_version.h; c -I. -Is/src s/src/*.c s/reformatter/json_reformat.c -lm && runs && cp "$in/json" stdin; }
build_z80asm() { c -DVERSION='"1"' -DLOCALEDIR='""' -Is -Is/gnulib s/z80asm.c s/expressions.c && runs -o "$work/out" "$in/z80"; }
build_zopfli() { c s/src/zopfli/*.c -lm && runs --i2 -c "$in/text.small"; }
build_aho-corasick() { crate memchr --cfg 'feature="std"' && crate aho-corasick --cfg 'feature="std"' --extern memchr="$work/libmemchr.rlib" && rust aho aho-corasick && runs "$in/strings" "$in/text.long"; }
build_base64() { crate base64 --cfg 'feature="std"' --cfg 'feature="alloc"' && rust base64 base64 && runs "$in/text.long" 2; }
build_bit-set() { crate bit-vec --cfg 'feature="std"' && crate bit-set --cfg 'feature="std"' --extern bit_vec="$work/libbit_vec.rlib" && rust bitset bit-set && runs 200000; }
build_json() { crate json && rust json json && runs "$in/json" 2; }
build_miniz-oxide() { crate adler && crate miniz-oxide --cfg 'feature="with-alloc"' --extern adler="$work/libadler.rlib" && rust miniz miniz-oxide && runs "$in/text"; }
build_roxmltree() { crate xmlparser --cfg 'feature="std"' && crate roxmltree --cfg 'feature="std"' --cfg 'feature="positions"' --extern xmlparser="$work/libxmlparser.rlib" && rust roxml roxmltree && runs "$in/xml" 2; }
build_strsim() { crate strsim && rust strsim strsim && runs "$in/strings"; }
build_tiny-keccak() { crate crunchy --cfg 'feature="default"' --cfg 'feature="limit_128"' --cfg 'feature="std"' && crate tiny-keccak --cfg 'feature="sha3"' --cfg 'feature="shake"' --extern crunchy="$work/libcrunchy.rlib" && rust keccak tiny-keccak && runs "$in/text.long"; }
build_unicode-segmentation() { crate unicode-segmentation && rust segment unicode-segmentation && runs "$in/text.small"; }
build_weezl() { crate weezl --cfg 'feature="std"' --cfg 'feature="alloc"' && rust weezl weezl && runs "$in/text.long"; }

rustc=$(command -v rustc || ls "$HOME/.cargo/bin/rustc" 2>/dev/null || echo rustc)
mkdir -p "$in" && python3 "$here/inputs.py" "$in" && cp "$in/f" "$in/f.f" || exit 1
sed 's/^\* = \(.*\)$/!cpu 6502\n*=\1/' "$in/a65" >"$in/a65.acme"
gcc -O1 -std=gnu11 -D_GNU_SOURCE "$here/../gen.c" "$here/../gen_body.c" -lm -o "$dir/gen" && "$dir/gen" 7 >"$in/c" || exit 1
prepare_apt || say 'no source packages here: only what was fetched before'
k=0
while read -r _ package language; do
	k=$((k + 1)) work=$dir/$set/$package CC=gcc CXX=g++
	[ $((k % 2)) -eq 0 ] && CC=clang CXX=clang++
	[ -s "$work/command" ] && continue
	rm -rf "$work"
	mkdir -p "$work" && cd "$work" || exit 1
	[ "$language" = rust ] || [ "$language" = here ] || (cd "$dir" && unpack "$package" "$work/s") || { echo "$package: it could not be fetched" >>"$dir/$set/missing" && continue; }
	if ! "build_$package" >log 2>&1 || [ ! -x program ] || [ ! -s command ]; then
		rm -f command
		echo "$package: it did not build" >>"$dir/$set/missing"
	fi
	rm -rf x
done < <(grep "^$set " "$here/programs")
sed 's/^/build.sh: /' "$dir/$set/missing" >&2

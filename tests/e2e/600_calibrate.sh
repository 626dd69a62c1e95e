#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# skidprof calibrate on the processor itself: a few rows, their form in all formats. What they measure is not judged: other
# programs run beside this test.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

if [ "$(uname -m)" != x86_64 ]; then
	check 'no cliffs for this processor is an error' status 1 "$SKIDPROF" calibrate --quick
	check 'that is said' grep -q 'only for x86-64' err
	finish
fi

check 'a few rows' status 0 "$SKIDPROF" calibrate --quick --only '*mul-latency' --format json
cp out few.json
cat >schema.py <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
kinds = {"skidprof": int, "cpu": str, "core_ghz": float, "tsc_ghz": float, "cycles_by": str, "no_pmu": (str, type(None)),
         "quick": bool, "seconds": float, "core_shared": dict, "cliffs": list, "against": str, "clean_rows": int, "mean_err_before": float,
         "mean_err_after": float, "mean_err_after_continuous": float}
row_kinds = {"name": str, "class": str, "unit": str, "real": (float, type(None)), "lo": (float, type(None)),
             "hi": (float, type(None)), "verdict": str, "before": (float, type(None)), "after": (float, type(None)),
             "err_before": (float, type(None)), "err_after": (float, type(None)), "note": (str, type(None)), "integer": bool, "params": str,
             "curve": list}
def has(what, kinds):
    for key, kind in kinds.items():
        assert key in what, key
        assert isinstance(what[key], kind), (key, what[key])
has(doc, kinds)
company = doc["core_shared"]
has(company, {"told": bool, "window": int, "share": float, "waited_s": float, "looks": int, "taken_again": int, "begun_anew": int})
assert company["told"] == (company["window"] > 0) and 0 <= company["share"] <= 1, company
assert not company["told"] or company["looks"] > 0, company
assert (doc["no_pmu"] is None) == (doc["cycles_by"] == "counter") and doc["no_pmu"] != "", doc["no_pmu"]
assert doc["cliffs"], "no rows"
for row in doc["cliffs"]:
    has(row, row_kinds)
    assert row["class"] in ("latency", "bandwidth", "capacity", "special"), row
    assert row["verdict"] in ("clean", "weak", "absent", "noisy", "unsupported"), row
    if row["verdict"] == "unsupported":
        continue
    assert row["curve"] and all(len(p) == 3 and p[1] > 0 and p[2] >= 0 for p in row["curve"]), row
    pressures = [p[0] for p in row["curve"]]
    assert pressures == sorted(set(pressures)), pressures
    if row["verdict"] != "absent" and row["real"] is not None:
        assert row["lo"] <= row["real"] <= row["hi"], row
print(" ".join(sorted(r["name"] for r in doc["cliffs"])))
PY
check 'JSON has the documented form' sh -c 'python3 schema.py few.json >names'
check 'and the rows that were asked for' grep -qx 'fmul-latency imul-latency mul-latency vmul-latency' names
check 'rows of other classes' status 0 "$SKIDPROF" calibrate --quick --only '[ar][dlo][db-]*' --format json
cp out all.json
check 'has the same form' sh -c 'python3 schema.py all.json >/dev/null'
check 'a row that must be told from another brings it along' status 0 "$SKIDPROF" calibrate --quick --only flag-regs --format csv
check 'CSV has a line for each' sh -c '[ "$(cut -d, -f1 out | tr "\n" " ")" = "name rob flag-regs " ]'
check 'with as many fields' sh -c '[ -z "$(grep -v "^[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[a-z]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*$" out)" ]'
check 'text' status 0 "$SKIDPROF" calibrate --quick --only zero-idiom
check 'names the processor and the clock' grep -q 'GHz; cycles by' out
check 'says whether the core was shared' grep -qE '^(The core was (not seen to be )?shared|Whether the core is shared)' out
check 'counts the verdicts' grep -q '^1 cliffs: ' out
perf stat -e cycles:u true >/dev/null 2>perf.err
if grep -q 'not supported' perf.err; then
	check 'without counters it says that the skid is not known' grep -q "skid of this processor can't be measured" out
fi

grep -oE '^\.It Cm [a-z0-9-]+$' "$TOP/man/skidprof-calibrate.1" | sort >in.page
grep -oE '^[[:space:]]*\{ "[a-z0-9-]+"' "$TOP/profiler/calibrate/table_x86.c" | sed 's/.*"\(.*\)"/.It Cm \1/' | sort >in.table
check 'the manual page has every row' sh -c '! comm -13 in.page in.table | grep .'

check 'the fitted core is written' status 0 "$SKIDPROF" calibrate --quick --only 'f*-latency' --against zen5 -o fit.core --html fit.html
check 'with what it was in a table' grep -q '^after: mean absolute error' out
check 'as a core file that record takes' "$SKIDPROF" record -q --pmu sim --core fit.core -o r.data -- /bin/true
check 'and a page that names every cliff' grep -q '<b>fdiv64-latency</b>' fit.html
check 'says whether the core was shared' grep -qE '<p>(The core was (not seen to be )?shared|Whether the core is shared)' fit.html
check 'and fetches nothing' sh -c '! grep -qE "(src|href)=|url\(" fit.html'
cat >shift.py <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
next(r for r in doc["cliffs"] if r["name"] == "fmul-latency")["real"] *= float(sys.argv[2])
for r in doc["cliffs"]:
    r["verdict"] = "clean"
print(json.dumps(doc))
PY
check 'two tables are compared' sh -c 'python3 shift.py few.json 1 >a.json && python3 shift.py few.json 1.02 >b.json && python3 "$TOP/tests/stat/again.py" a.json b.json >moves'
check 'row by row' grep -qE '^fmul-latency +2/2 .* 2\.00%' moves
check 'and a clean row that moved by 3% is found' sh -c 'python3 shift.py few.json 1.04 >b.json; ! python3 "$TOP/tests/stat/again.py" a.json b.json >moves'
check 'and named' grep -qE '^fmul-latency .* MOVES$' moves
check 'a core that is none' status 1 "$SKIDPROF" calibrate --quick --only add-latency --against /dev/null
# Measuring everything takes more than a minute.
check 'which is said before anything is measured' status 1 timeout 40 "$SKIDPROF" calibrate --against /dev/null
check 'a place that can not be written' status 1 timeout 40 "$SKIDPROF" calibrate -o /nowhere/x.core
check 'nor a page' status 1 timeout 40 "$SKIDPROF" calibrate --html /nowhere/x.html
check 'a misspelt row' status 2 "$SKIDPROF" calibrate --only imul-latencx
check 'gets a suggestion' grep -q "did you mean 'imul-latency'?" err
check 'a pattern of none' status 2 "$SKIDPROF" calibrate --only 'q*'
check 'a misspelt format' status 2 "$SKIDPROF" calibrate --format yaml
check 'a word too many' status 2 "$SKIDPROF" calibrate rob
# A file that can't be written whole leaves the one before, and what was measured is shown.
echo 'as before' >kept.core
cp kept.core kept.html
for o in -o\ kept.core --html\ kept.html; do
	# shellcheck disable=SC2086,SC2016
	check "no room for $o is an error" status 1 bash -c 'trap "" XFSZ; (ulimit -f 1; "$SKIDPROF" calibrate --quick --only "*mul-latency" "$@") | cat; exit "${PIPESTATUS[0]}"' - $o
	check 'in one line' one_line "${o#* }: "
	check 'what was there is' grep -qx 'as before' "${o#* }"
	check 'no draft is left' test ! -e "${o#* }.part"
	check 'the rows are shown' grep -q 'imul-latency' out
	# shellcheck disable=SC2086
	check "standard output is no file for ${o% *}" status 2 "$SKIDPROF" calibrate --quick --only '*mul-latency' ${o% *} -
	check 'and none of that name' test ! -e -
done
finish

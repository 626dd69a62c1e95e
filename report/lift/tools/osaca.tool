# OSACA, https://github.com/RRZE-HPC/OSACA: steady-state throughput from port pressure and loop-carried dependencies.
# Needs a program 'osaca' in PATH, as 'pip install osaca' puts it there.
give    asm
before  # OSACA-BEGIN
after   # OSACA-END
run     osaca --arch {cpu} {file}
version osaca --version
# The sums: the ports' pressures, the critical path, the loop-carried dependency.  All but the path bound the throughput.
take    ^ +([0-9. ]+[0-9.]) +[0-9.]+ +[0-9.]+ *$
take    ^ +[0-9. ]+ +[0-9.]+ +([0-9.]+) *$
fail    The performance data for .* is missing
cpu     znver1         zen1
cpu     znver2         zen2
cpu     znver3         zen3
cpu     znver4         zen4
cpu     znver5         zen5
cpu     haswell        hsw
cpu     broadwell      bdw
cpu     skylake        skx
cpu     skylake-avx512 skx
cpu     icelake-client icl
cpu     icelake-server icx
cpu     sapphirerapids spr
cpu     neoverse-n1    n1

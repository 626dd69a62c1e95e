# uiCA, https://github.com/andreas-abel/uiCA: a simulator of Intel's pipelines, Sandy Bridge to Rocket Lake.
# Needs a program 'uiCA.py' in PATH, made ready by its setup.sh.
give    raw
isa     x86-64
run     uiCA.py -raw {file} -arch {cpu} -TPonly
take    ^([0-9.]+) *$
cpu     sandybridge    SNB
cpu     ivybridge      IVB
cpu     haswell        HSW
cpu     broadwell      BDW
cpu     skylake        SKL
cpu     skylake-avx512 SKX
cpu     icelake-client ICL
cpu     tigerlake      TGL
cpu     rocketlake     RKL

# IACA, Intel's discontinued architecture code analyzer (3.0).  Needs a program 'iaca' in PATH.
# Its markers overwrite a register, so they go round the bytes of the block, never into the program that is measured.
give    object
isa     x86-64
before  movl $111, %ebx
before  .byte 0x64, 0x67, 0x90
after   movl $222, %ebx
after   .byte 0x64, 0x67, 0x90
run     iaca -arch {cpu} {file}
version iaca --version
take    Block Throughput: +([0-9.]+) Cycles
cpu     haswell        HSW
cpu     broadwell      BDW
cpu     skylake        SKL
cpu     skylake-avx512 SKX

# Ithemal, https://github.com/ithemal/Ithemal: a neural network that was shown measured blocks.
# Needs a program 'ithemal' in PATH that names its model and calls learning/pytorch/ithemal/predict.py, for example
#	#!/bin/sh
#	exec python3 .../predict.py --model .../$1.dump --model-data .../$1.mdl --file "$2"
# It says how many cycles a hundred executions take.
give    object
isa     x86-64
before  movl $111, %ebx
before  .byte 0x64, 0x67, 0x90
after   movl $222, %ebx
after   .byte 0x64, 0x67, 0x90
run     ithemal {cpu} {file}
take    ^([0-9.]+) *$
per     100
cpu     haswell        haswell
cpu     ivybridge      ivybridge
cpu     skylake        skylake

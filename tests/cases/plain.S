# System calls come back, rep instructions are one instruction: neither ends a block.
# @expect blocks 2
# @expect block main+0x0 insns 6
# @expect region header main+0x0 blocks 1 edges 1 headers 1
# @edge main -> main taken
	.text
	.globl main
	.type main, @function
main:
	mov $39, %eax
	syscall
	mov $8, %ecx
	rep stosb
	dec %ebx
	jne main
	ret
	.size main, .-main

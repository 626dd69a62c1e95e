# Bytes that are no instructions are stepped over, and said.
# @expect block main+0x0 insns * undecoded
# @expect region header main+0x0 * undecoded*
	.text
	.globl main
	.type main, @function
main:
	nop
	.byte 0x06
	dec %ebx
	jne main
	ret
	.size main, .-main

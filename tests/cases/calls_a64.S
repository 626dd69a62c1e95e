# aarch64: bl, ret, a conditional branch on zero, and blr through a pointer we can't follow.
# @isa aarch64
# @hot main f
# @edge main -> f call
# @edge f:out -> main:after ret of main+0x0
# @edge f -> f:out taken
# @edge main:after -> main:again skip
# @expect block main+0x4 insns 1 unknown
# @expect region header main+0x0 blocks 6 * unknown*
# @expect region header main+0x0 blocks 6 edges 7 headers 1 unknown
	.text
	.globl main
	.type main, %function
main:
	bl f
after:
	blr x19
again:
	subs w20, w20, #1
	b.ne main
	ret
	.size main, .-main
	.type f, %function
f:
	cbz w0, out
	add w0, w0, #1
out:
	ret
	.size f, .-f

# aarch64: bytes, scaled by four, from a base that is not the table.
# @isa aarch64
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
# @expect region header f+0x0 blocks 6 edges 9 headers 1
	.text
	.globl main
	.type main, %function
main:
	ret
	.size main, .-main
	.type f, %function
f:
	cmp w0, #2
	b.hi done
entry:
	adrp x1, table
	add x1, x1, :lo12:table
	ldrb w1, [x1, w0, uxtw]
	adr x2, zero
	add x1, x2, w1, sxtb #2
	br x1
zero:
	add w3, w3, #1
	b done
one:
	sub w3, w3, #1
	b done
two:
	neg w3, w3
done:
	subs w4, w4, #1
	b.ne f
	ret
trap:
	brk #1
	.size f, .-f
	.section .rodata
table:
	.byte (zero - zero) / 4, (one - zero) / 4, (two - zero) / 4, (trap - zero) / 4

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One hot loop with calls, an inner loop and a branch that is taken every
 * other turn.  Instructions, counted by hand:
 *
 *	before the loop  3: mov, movk, adrp + add = 4
 *	an even turn     bl chain, bl divide, tbz taken, bl inner, subs, b.ne     6
 *	                 chain 13, divide 7, inner 1 + 6 * 3 + 1 = 20             40 -> 46
 *	an odd turn      the same, and bl odd, odd 9                                 -> 56
 *	after the loop   mov, mov, svc                                            3
 *
 * All of it with TURNS even: 4 + TURNS * 51 + 3.
 *
 * With CALLS a turn makes a system call (getppid) before it looks whether it is an odd one: mov, mov, svc, 3 more.
 * What it looks at is kept in x7 meanwhile, which a stop at the call shows as something else.
 */
	.text
	.globl _start
	.type _start, %function
_start:
	mov	x19, #(TURNS & 0xffff)
	movk	x19, #(TURNS >> 16), lsl #16
	adrp	x20, cell
	add	x20, x20, :lo12:cell
turn:
	bl	chain
	bl	divide
#ifdef CALLS
	mov	x7, x19
	mov	x8, #173
	svc	#0
	tbz	x7, #0, 1f
#else
	tbz	x19, #0, 1f
#endif
	bl	odd
1:	bl	inner
	subs	x19, x19, #1
	b.ne	turn
	mov	x0, #0
	mov	x8, #93
	svc	#0
	.size _start, . - _start

	.type chain, %function
chain:
	.rept	6
	ldr	x1, [x20]
	str	x1, [x20, #8]
	.endr
	ret
	.size chain, . - chain

	.type divide, %function
divide:
	mov	x1, #1000
	mov	x2, #7
	udiv	x1, x1, x2
	mul	x1, x1, x2
	udiv	x1, x1, x2
	madd	x3, x1, x2, x3
	ret
	.size divide, . - divide

	.type odd, %function
odd:
	.rept	8
	add	x4, x4, x19
	.endr
	ret
	.size odd, . - odd

	.type inner, %function
inner:
	mov	x1, #6
1:	eor	x5, x5, x1
	sub	x1, x1, #1
	cbnz	x1, 1b
	ret
	.size inner, . - inner

	.bss
	.balign 16
cell:	.skip 16

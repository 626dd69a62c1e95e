/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop of exactly 1000 instructions that calls five functions one after
 * the other: one free flow.  A period that is a multiple of 1000 shows one
 * place of it over and over.
 *
 *	a turn: main 5 bl + 243 nop + subs + b.ne = 250,
 *	        one 100, two 200, three 50, four 250, five 150          1000
 *
 * All of it: 2 + TURNS * 1000 + 3.
 */
	.text
	.globl _start
	.type _start, %function
_start:
	mov	x19, #(TURNS & 0xffff)
	movk	x19, #(TURNS >> 16), lsl #16
turn:
	bl	one
	bl	two
	bl	three
	bl	four
	bl	five
	.rept	243
	nop
	.endr
	subs	x19, x19, #1
	b.ne	turn
	mov	x0, #0
	mov	x8, #93
	svc	#0
	.size _start, . - _start

	.macro	body name, n
	.type \name, %function
\name:
	.rept	\n - 1
	add	x1, x1, #1
	.endr
	ret
	.size \name, . - \name
	.endm
	body	one, 100
	body	two, 200
	body	three, 50
	body	four, 250
	body	five, 150

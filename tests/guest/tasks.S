/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process of three threads, a forked child that works, and one that
 * executes the program named by the first argument.  Each does its own loop
 * of TURNS turns, so that every sample says which task took it:
 *
 *	task       a turn                 all its user instructions
 *	thread a   5: 3 eor, subs, b.ne   1 cbz, 2 before, 5 * TURNS, 3 to exit
 *	thread b   7: 5 eor, subs, b.ne   1 cbz, 2 before, 7 * TURNS, 3 to exit
 *	child c    9: 7 eor, subs, b.ne   1 cbz, 2 before, 9 * TURNS, 3 to exit
 *	main m    11: 9 eor, subs, b.ne   1 ldr, 8 and 8 for threads, 5 and 5 for
 *	                                  children, b, 2 before = 30, 11 * TURNS,
 *	                                  and what waiting takes
 *	child d    does not loop: execve
 *
 * The threads have no stack of their own: nothing uses it.
 */
	.equ	CLONE_THREAD_FLAGS, 0x00250f00 /* VM FS FILES SIGHAND THREAD SYSVSEM, CHILD_CLEARTID */
	.equ	SIGCHLD, 17

	.macro	call number
	mov	x8, #\number
	svc	#0
	.endm

	.macro	address reg, cell
	adrp	\reg, \cell
	add	\reg, \reg, :lo12:\cell
	.endm

	.macro	leave /* this thread alone */
	mov	x0, #0
	call	93
	.endm

	.macro	work name, eors
	.type \name, %function
\name:
	mov	x19, #(TURNS & 0xffff)
	movk	x19, #(TURNS >> 16), lsl #16
\name\()_turn:
	.rept	\eors
	eor	x1, x1, x19
	.endr
	subs	x19, x19, #1
	b.ne	\name\()_turn
	.endm

	.macro	thread cell, start
	mov	x0, #(CLONE_THREAD_FLAGS & 0xffff)
	movk	x0, #(CLONE_THREAD_FLAGS >> 16), lsl #16
	mov	x1, #0
	address	x4, \cell
	call	220
	cbz	x0, \start
	.endm

	.macro	fork start
	mov	x0, #SIGCHLD
	mov	x1, #0
	call	220
	cbz	x0, \start
	.endm

	.macro	join cell
1:	address	x0, \cell
	ldr	w2, [x0]
	cbz	w2, 2f
	mov	x1, #0 /* FUTEX_WAIT */
	mov	x3, #0
	call	98
	b	1b
2:
	.endm

	.macro	wait
	mov	x0, #-1
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	call	260
	.endm

	.text
	.globl _start
	.type _start, %function
_start:
	ldr	x21, [sp, #16] /* argv[1] */
	thread	cell_a, a
	thread	cell_b, b
	fork	c
	fork	d
	b	m
	.size _start, . - _start

	work	a, 3
	leave
	.size a, . - a
	work	b, 5
	leave
	.size b, . - b
	work	c, 7
	leave
	.size c, . - c

	.type d, %function
d:
	address	x1, args
	str	x21, [x1]
	mov	x0, x21
	mov	x2, #0
	call	221
	mov	x0, #111
	call	94
	.size d, . - d

	work	m, 9
	join	cell_a
	join	cell_b
	wait
	wait
	mov	x0, #0
	call	94
	.size m, . - m

	.data
	.balign	8
cell_a:	.word 1
cell_b:	.word 1
args:	.quad 0, 0

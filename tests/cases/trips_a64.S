# Loops whose turns the code tells, on aarch64.
# @isa aarch64
# @trip count_up -> count_up:up 16
# @trip pointers -> pointers:p 64
# @trip wide -> wide:w 70000
# @trip zero:z0 -> zero:z 12
# @trip data -> data:d 25
# @trip two_ends -> two_ends:te 40
# @no-trip stored:s
	.text
	.globl main
	.type main, %function
main:
	ret
	.size main, .-main

	.type count_up, %function
count_up:
	mov x3, 0
up:
	ldrb w4, [x1, x3]
	add x3, x3, 1
	cmp x3, 16
	b.ne up
	ret
	.size count_up, .-count_up

# The load moves the pointer on.
	.type pointers, %function
pointers:
	add x2, x0, 256
p:
	ldr w1, [x0], 4
	add w3, w3, w1
	cmp x0, x2
	b.ne p
	ret
	.size pointers, .-pointers

	.type wide, %function
wide:
	mov w2, 4464
	movk w2, 1, lsl 16
w:
	add w3, w3, w2
	subs w2, w2, 1
	b.ne w
	ret
	.size wide, .-wide

	.type zero, %function
zero:
	cbz w0, z_out
z0:
	mov w2, 12
z:
	add w3, w3, w2
	sub w2, w2, 1
	cbnz w2, z
z_out:
	ret
	.size zero, .-zero

	.type data, %function
data:
	adrp x1, table
	add x1, x1, :lo12:table
	add x2, x1, 100
d:
	ldr w4, [x1]
	add x1, x1, 4
	cmp x1, x2
	b.cc d
	ret
	.size data, .-data

# Against two ends, the first of which is not known.
	.type two_ends, %function
two_ends:
	mov x3, 0
te:
	cmp x3, x0
	b.ge te_out
	add x3, x3, 1
	cmp x3, 40
	b.ne te
te_out:
	ret
	.size two_ends, .-two_ends

# The register that would count is loaded.
	.type stored, %function
stored:
	mov x3, 0
s:
	ldp x3, x4, [x1], 16
	add x3, x3, 1
	cmp x3, 16
	b.ne s
	ret
	.size stored, .-stored

	.section .rodata
	.balign 4096
table:
	.zero 100

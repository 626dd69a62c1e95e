# Loops whose turns the code tells, and others that look like it.
# @trip count_up -> count_up:up 16
# @trip count_down:down0 -> count_down:down 40
# @trip pointers -> pointers:p 64
# @trip hoisted:outer -> hoisted:in 8
# @trip hoisted -> hoisted:outer 3
# @trip top_test -> top_test:tt 11
# @trip two_ways:a -> two_ways:w 4
# @trip two_ways:b -> two_ways:w 9
# @trip with_call:wc0 -> with_call:wc 5
# @trip wraps -> wraps:wr 4
# @trip early -> early:e 16
# @trip two_ends -> two_ends:te 40
# @no-trip unknown_end:u
# @no-trip changed:c
# @no-trip skipped:s
# @no-trip lost_in_call:l
# @no-trip memory:m
# @no-trip middle:mid
# @no-trip other_flags:of
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main

	.type count_up, @function
count_up:
	xor %eax, %eax
up:
	add (%rdi,%rax,4), %edx
	add $1, %rax
	cmp $16, %rax
	jne up
	ret
	.size count_up, .-count_up

# From 39 down to 0: the flags are the subtraction's own.
	.type count_down, @function
count_down:
	test %edi, %edi
	je down_out
down0:
	mov $39, %ecx
down:
	add (%rdi), %edx
	sub $1, %ecx
	jns down
down_out:
	ret
	.size count_down, .-count_down

# Only how far it is to the end is known, not where that is.
	.type pointers, @function
pointers:
	lea 0x200(%rdi), %rcx
	mov %rdi, %rax
p:
	add (%rax), %edx
	add $8, %rax
	cmp %rcx, %rax
	jne p
	ret
	.size pointers, .-pointers

# The inner end was worked out before the outer loop.
	.type hoisted, @function
hoisted:
	lea 0x20(%rsi), %r9
	mov $3, %r8d
outer:
	mov %rsi, %rax
in:
	add (%rax), %edx
	add $4, %rax
	cmp %rax, %r9
	jne in
	dec %r8d
	jne outer
	ret
	.size hoisted, .-hoisted

# Asked before it moves: the header runs once more.
	.type top_test, @function
top_test:
	xor %eax, %eax
tt:
	cmp $10, %eax
	je tt_out
	add (%rdi), %edx
	inc %eax
	jmp tt
tt_out:
	ret
	.size top_test, .-top_test

	.type two_ways, @function
two_ways:
	test %edi, %edi
	je b
a:
	mov $6, %eax
	jmp w
b:
	mov $1, %eax
w:
	add %eax, %edx
	add $1, %eax
	cmp $9, %eax
	jle w
	ret
	.size two_ways, .-two_ways

# A callee keeps rbx.
	.type with_call, @function
with_call:
	push %rbx
	test %rdi, %rdi
	je wc_out
wc0:
	xor %ebx, %ebx
wc:
	call leaf
	add $1, %ebx
	cmp $5, %ebx
	jb wc
wc_out:
	pop %rbx
	ret
	.size with_call, .-with_call

	.type leaf, @function
leaf:
	lea 1(%rdi), %eax
	ret
	.size leaf, .-leaf

# Below zero there is 2^32 - 1.
	.type wraps, @function
wraps:
	mov $3, %eax
wr:
	add %eax, %edx
	sub $1, %eax
	cmp $-1, %eax
	jne wr
	ret
	.size wraps, .-wraps

# Left early or by its count: the count is told, whoever uses it must ask about the other way out.
	.type early, @function
early:
	xor %eax, %eax
e:
	cmpl $0, (%rdi,%rax,4)
	je e_out
	add $1, %rax
	cmp $16, %rax
	jne e
e_out:
	ret
	.size early, .-early

# Against two ends, the first of which is not known.
	.type two_ends, @function
two_ends:
	xor %eax, %eax
te:
	cmp %rsi, %rax
	jge te_out
	add (%rdi,%rax,4), %edx
	add $1, %rax
	cmp $40, %rax
	jne te
te_out:
	ret
	.size two_ends, .-two_ends

	.type unknown_end, @function
unknown_end:
	xor %eax, %eax
u:
	add (%rdi,%rax,4), %edx
	add $1, %rax
	cmp %rsi, %rax
	jne u
	ret
	.size unknown_end, .-unknown_end

# The end moves as well.
	.type changed, @function
changed:
	xor %eax, %eax
	mov $16, %ecx
c:
	add $1, %rax
	shr $1, %rcx
	cmp %rcx, %rax
	jb c
	ret
	.size changed, .-changed

# In some turns it does not move.
	.type skipped, @function
skipped:
	xor %eax, %eax
s:
	cmpl $0, (%rdi)
	je s_on
	add $1, %rax
s_on:
	cmp $16, %rax
	jne s
	ret
	.size skipped, .-skipped

# What a callee may change is not counted on.
	.type lost_in_call, @function
lost_in_call:
	xor %ecx, %ecx
l:
	call leaf
	add $1, %rcx
	cmp $16, %rcx
	jne l
	ret
	.size lost_in_call, .-lost_in_call

	.type memory, @function
memory:
	movl $0, -4(%rsp)
m:
	addl $1, -4(%rsp)
	cmpl $16, -4(%rsp)
	jne m
	ret
	.size memory, .-memory

# Come to in the middle from elsewhere: nothing is known there.
	.type middle, @function
middle:
	xor %eax, %eax
	test %edi, %edi
	je mid_in
mid:
	add (%rdi), %edx
mid_in:
	add $1, %rax
	cmp $16, %rax
	jne mid
	ret
	.size middle, .-middle

# The flags are the shift's.
	.type other_flags, @function
other_flags:
	xor %eax, %eax
of:
	add $1, %rax
	cmp $16, %rax
	shr $1, %edx
	jne of
	ret
	.size other_flags, .-other_flags

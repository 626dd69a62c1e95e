# fail never comes back, so what stands behind its call isn't reached from it; `last` ends with such a call.
# @expect func fail+0x0 returns 0 blocks 1
# @expect func check+0x0 returns 1 blocks 3
# @edge check:bad -> fail call
# @no-edge check:bad -> check:good skip
# @no-edge check:bad -> check:good fall
# @edge check -> check:good taken
# @edge check:good -> main:after ret of main+0x0
# @expect func last+0x0 returns 0 blocks 1
# @expect regions 1
# @expect region header main+0x0 blocks 4 edges 4 headers 1
# @never edge*-> next+0x0 fall
	.text
	.globl main
	.type main, @function
main:
	call check
after:
	dec %eax
	jne main
	ret
	.size main, .-main
	.type check, @function
check:
	test %eax, %eax
	jns good
bad:
	call fail
good:
	ret
	.size check, .-check
	.type fail, @function
fail:
	mov $60, %eax
	ud2
	.size fail, .-fail
	.type last, @function
last:
	call fail
	.size last, .-last
	.type next, @function
next:
	ret
	.size next, .-next

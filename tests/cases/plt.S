# Calls through the PLT and through the GOT to a function that is not here: stepped over by what we have of them.
# @link -shared
# @hot main
# @edge main -> ext@plt call
# @edge ext@plt -> main:after ret of main+0x0
# @edge main:after -> main:again skip
# @never *unknown*
# @never *guessed*
# @expect region header main+0x0 blocks 4 edges 4 headers 1
	.text
	.globl main
	.type main, @function
main:
	call ext@PLT
after:
	call *other@GOTPCREL(%rip)
again:
	dec %ebx
	jne main
	ret
	.size main, .-main

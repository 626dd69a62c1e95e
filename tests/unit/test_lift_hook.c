/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "report/lift/hook.h"

#ifdef __x86_64__

/* A function and its area, in memory that may be run. */
struct fixture {
	uint8_t code[64];
	struct hook_area area;
};

typedef uint64_t function(uint64_t a, uint64_t b);

static struct fixture *fixture_new(const void *code, size_t n)
{
	struct fixture *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE | PROT_EXEC,
	                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hook h = { .entry = (uintptr_t)f->code, .area = (uintptr_t)&f->area };

	assert_true(f != MAP_FAILED);
	memcpy(f->code, code, n);
	assert_null(hook_plan(f->code, n, h.entry, &h));
	assert_true(hook_reaches(h.entry, h.area));
	hook_build(&h, f->area.code, f->code);
	return f;
}

static uint64_t call(const struct fixture *f, uint64_t a, uint64_t b)
{
	function *fn;
	const void *code = f->code;

	memcpy(&fn, &code, sizeof(fn));
	return fn(a, b);
}

/* lea (%rdi,%rsi), %rax; mov $100, %ecx; 1: dec %ecx; jne 1b; ret. */
static void a_hooked_function_does_what_it_did_and_is_timed(void **state)
{
	static const uint8_t code[] = { 0x48, 0x8d, 0x04, 0x37, 0xb9, 0x64, 0,
		                        0,    0,    0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	struct fixture *f = fixture_new(code, sizeof(code));

	(void)state;
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(call(f, i, 1000), i + 1000);
	assert_int_equal(f->area.calls, 50);
	assert_int_equal(f->area.depth, 0);
	/* A hundred turns take a hundred cycles: under 20 ticks a call no counter runs so slowly. */
	assert_true(f->area.ticks >= 50 * 20);
	munmap(f, sizeof(*f));
}

/*
 * f(n, sum) = n ? f(n - 1, sum + n) : sum, by a call:
 * add %rdi, %rsi; sub $1, %rdi; js 2f; call f; ret; 2: lea 1(%rsi), %rax; ret.
 */
static void only_the_outermost_call_of_a_recursion_is_timed(void **state)
{
	static const uint8_t code[] = { 0x48, 0x01, 0xfe, 0x48, 0x83, 0xef, 0x01, 0x78, 0x06, 0xe8,
		                        0xf2, 0xff, 0xff, 0xff, 0xc3, 0x48, 0x8d, 0x46, 0x01, 0xc3 };
	struct fixture *f = fixture_new(code, sizeof(code));

	(void)state;
	/* 10 + 9 + ... + 1 + 0 = 55, and 1. */
	assert_int_equal(call(f, 10, 0), 56);
	assert_int_equal(f->area.calls, 1);
	assert_int_equal(f->area.depth, 0);
	munmap(f, sizeof(*f));
}

/*
 * test %rdi, %rdi; je 1f; lea 1(%rdi), %rax; ret; 1: mov 2f(%rip), %rax; ret; 2: .quad 77:
 * the jump within the first five bytes moves, and still goes to 1.
 */
static void a_conditional_jump_moves(void **state)
{
	static const uint8_t code[] = { 0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01,
		                        0xc3, 0x48, 0x8b, 0x05, 0x01, 0,    0,    0,    0xc3,
		                        77,   0,    0,    0,    0,    0,    0,    0 };
	struct fixture *f = fixture_new(code, sizeof(code));

	(void)state;
	assert_int_equal(call(f, 4, 0), 5);
	assert_int_equal(call(f, 0, 0), 77);
	assert_int_equal(f->area.calls, 2);
	munmap(f, sizeof(*f));
}

/* mov 1f(%rip), %rax; add %rdi, %rax; ret; 1: .quad 30: the displacement from %rip is mended. */
static void what_depends_on_its_place_moves(void **state)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x05, 0x04, 0, 0, 0, 0x48, 0x01, 0xf8,
		                        0xc3, 30,   0,    0,    0, 0, 0, 0,    0 };
	struct fixture *f = fixture_new(code, sizeof(code));

	(void)state;
	assert_int_equal(call(f, 12, 0), 42);
	assert_int_equal(f->area.calls, 1);
	munmap(f, sizeof(*f));
}

static void refuse(const void *code, size_t n, const char *word)
{
	struct hook h = { 0 };
	const char *why = hook_plan(code, n, 0x1000, &h);

	assert_non_null(why);
	if (!strstr(why, word))
		fail_msg("no '%s' in '%s'", word, why);
}

static void what_can_not_be_moved_is_refused(void **state)
{
	(void)state;
	refuse("\xf3\xc3\x90\x90\x90\x90", 6, "jumps");                   /* rep ret */
	refuse("\x81\x3d\x07\0\0\0\x07\0\0\0\xc3", 11, "where they are"); /* cmpl $7, 7(%rip): which 7? */
	refuse("\x90\x90", 2, "decoded");
}

static void an_area_too_far_away_is_out_of_reach(void **state)
{
	(void)state;
	assert_true(hook_reaches(0x555500001000, 0x555570000000));
	assert_false(hook_reaches(0x555500001000, 0x7fff00000000));
	assert_false(hook_reaches(0x555500001000, 0x5554000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hooked_function_does_what_it_did_and_is_timed),
		cmocka_unit_test(only_the_outermost_call_of_a_recursion_is_timed),
		cmocka_unit_test(a_conditional_jump_moves),
		cmocka_unit_test(what_depends_on_its_place_moves),
		cmocka_unit_test(what_can_not_be_moved_is_refused),
		cmocka_unit_test(an_area_too_far_away_is_out_of_reach),
	};

	return cmocka_run_group_tests_name("lift hook", tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif

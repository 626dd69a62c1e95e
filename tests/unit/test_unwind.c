/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This very program's stack, copied while it runs, and unwound. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/binary/unwind.h"

#if defined(__clang__)
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

enum { DEPTH = 5, STACK_BYTES = 16384, CAP = 64 };

static struct taken {
	uint64_t regs[17], n_called;
	uint8_t stack[STACK_BYTES];
	size_t stack_bytes;
} taken;

/* perf's numbers, ax bx cx dx si di bp sp ip and r8 to r15, whose bits are 0 to 8 and 16 to 23. */
static const uint64_t mask = UINT64_C(0xff01ff);

#if defined(__x86_64__)
/* As the kernel does it: it knows nothing of a sanitizer's guards between variables, and copies byte by byte past them. */
__attribute__((no_sanitize_address)) static void copy_stack(const volatile uint8_t *sp, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = sp[i];
}

static void take(const ucontext_t *c)
{
	static const int order[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
		                     REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
		                     REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	const uint8_t *sp = (const uint8_t *)c->uc_mcontext.gregs[REG_RSP];

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		taken.regs[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
	/* Not beyond the stack's end: there are as many bytes of frames and arguments above any test. */
	taken.stack_bytes = 4096;
	copy_stack(sp, taken.stack, taken.stack_bytes);
}
#endif

ALONE static int innermost(int x)
{
	ucontext_t context;

	taken.n_called++;
	/* Registers are all that is wanted of it. */
	// cppcheck-suppress getcontextCalled
	getcontext(&context);
#if defined(__x86_64__)
	take(&context);
#endif
	return x + (int)taken.n_called;
}

ALONE static int deeper(int depth)
{
	int x = depth ? deeper(depth - 1) : innermost(depth);

	/* No compiler makes a loop of it. */
	__asm__ volatile("" : "+r"(x)::"memory");
	return x + 1;
}

/* ---- where this program has its code ---- */

static struct module *self;
static uint64_t bias;

static int first_object(struct dl_phdr_info *info, size_t size, void *end)
{
	(void)size;
	bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz > *(uint64_t *)end)
			*(uint64_t *)end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

static uint64_t end;

static struct module *find(void *arg, uint32_t pid, uint64_t ip, uint64_t *vaddr)
{
	(void)arg;
	assert_int_equal(pid, 7);
	if (ip < bias || ip - bias >= end)
		return NULL;
	*vaddr = ip - bias;
	return self;
}

static int load(void **state)
{
	static const struct module_options opts = { .no_debuginfod = true };
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	assert_true(n > 0);
	path[n] = '\0';
	dl_iterate_phdr(first_object, &end);
	return module_open(path, NULL, 0, &opts, &self);
}

static int unload(void **state)
{
	(void)state;
	module_free(self);
	return 0;
}

static const char *name_at(uint64_t ip)
{
	long f = ip >= bias && ip - bias < end ? module_func_at(self, ip - bias) : -1;

	return f < 0 ? "" : module_func(self, (size_t)f)->linkage;
}

static struct unwind_sample sample(void)
{
	return (struct unwind_sample){ .isa = ISA_X86_64,
		                       .pid = 7,
		                       .mask = mask,
		                       .regs = taken.regs,
		                       .n_regs = 17,
		                       .stack = taken.stack,
		                       .stack_bytes = taken.stack_bytes };
}

static void a_recursion_is_unwound_frame_by_frame(void **state)
{
	uint64_t ips[CAP];
	struct unwind_sample s;
	struct unwind *u;
	size_t n;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_true(deeper(DEPTH) > 0);
	unwind_new(find, NULL, &u);
	/* The state of a process is kept from one sample to the next. */
	for (int again = 0; again < 2; again++) {
		s = sample();
		unwind_stack(u, &s, ips, CAP, &n);
		assert_true(n > DEPTH + 2);
		assert_string_equal(name_at(ips[0]), "innermost");
		for (int i = 1; i <= DEPTH + 1; i++)
			assert_string_equal(name_at(ips[i] - 1), "deeper");
		assert_string_equal(name_at(ips[DEPTH + 2] - 1), __func__);
	}
	unwind_free(u);
}

static void a_copy_that_is_too_short_is_told(void **state)
{
	uint64_t ips[CAP];
	struct unwind_sample s;
	struct unwind *u;
	size_t n;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_true(deeper(DEPTH) > 0);
	unwind_new(find, NULL, &u);
	s = sample();
	s.stack_bytes = 0;
	assert_false(unwind_stack(u, &s, ips, CAP, &n));
	assert_int_equal(n, 1);
	s = sample();
	assert_false(unwind_stack(u, &s, ips, 3, &n));
	assert_int_equal(n, 3);
	/* Without a program counter there is nothing to begin with. */
	s.mask = 0xff;
	assert_false(unwind_stack(u, &s, ips, CAP, &n));
	assert_int_equal(n, 0);
	unwind_free(u);
	unwind_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_is_unwound_frame_by_frame),
		cmocka_unit_test(a_copy_that_is_too_short_is_told),
	};

	return cmocka_run_group_tests(tests, load, unload);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/binary/module.h"
#include "profiler/perfdata/build_id_cache.h"

/*
 * A program whose lines are known: `twice` is inlined into `middle` at line
 * 5, `middle` into `outer` at line 9 and, as its address is taken, also there
 * by itself.
 */
static const char source[] = "volatile int sink;\n"                                            /* 1 */
                             "static inline __attribute__((always_inline)) int twice(int a)\n" /* 2 */
                             "{ sink = a; return a * 2; }\n"                                   /* 3 */
                             "static inline int middle(int a)\n"                               /* 4 */
                             "{ int r = twice(a + 1); sink = r; return r; }\n"                 /* 5 */
                             "int (*table[2])(int) = { middle, middle };\n"                    /* 6 */
                             "__attribute__((noinline)) int outer(int a)\n"                    /* 7 */
                             "{\n"                                                             /* 8 */
                             "\treturn middle(a) + 3;\n"                                       /* 9 */
                             "}\n"                                                             /* 10 */
                             "extern int alias(int) __attribute__((alias(\"outer\")));\n"      /* 11 */
                             "int main(int argc, char **argv)\n"                               /* 12 */
                             "{ return outer(argc) + table[argc & 1](!argv); }\n"              /* 13 */
                             "static __attribute__((noinline, used)) int __own(int a)\n"       /* 14 */
                             "{ sink = a; return a; }\n"                                       /* 15 */
                             "extern int shown(int) __attribute__((alias(\"__own\")));\n";     /* 16 */

static char dir[] = "/tmp/test_module.XXXXXX";

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *fmt, ...)
{
	char command[PATH_MAX * 2];
	va_list args;
	int len = snprintf(command, sizeof(command), "cd %s && ", dir);

	va_start(args, fmt);
	vsnprintf(command + len, sizeof(command) - (size_t)len, fmt, args);
	va_end(args);
	if (system(command) != 0) /* NOLINT: a test's own command */
		fail_msg("failed: %s", command);
}

static struct module *open_in_dir(const char *name, const struct module_options *opts)
{
	char path[PATH_MAX];
	struct module *m;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(module_open(path, NULL, 0, opts, &m), 0);
	assert_string_equal(module_why(m), "");
	assert_int_equal(module_state(m), MODULE_OK);
	return m;
}

static const struct module_func *func_named(struct module *m, const char *name)
{
	long i = module_func_named(m, name);

	if (i < 0)
		fail_msg("no function %s", name);
	return module_func(m, (size_t)i);
}

/* Somewhere in outer three functions must be at work: twice in middle in outer, called at 5 and 9. */
static void check_inlinings(struct module *m)
{
	const struct module_func *outer = func_named(m, "outer");
	struct module_inlining s[MODULE_MAX_INLININGS];
	bool found = false;

	for (uint64_t at = outer->vaddr; at < outer->vaddr + outer->size_bytes; at++) {
		const char *file;
		unsigned line;
		size_t n = module_inlinings(m, at, s);

		assert_in_range(n, 1, 3);
		assert_string_equal(s[n - 1].name, "outer");
		assert_int_equal(s[n - 1].line, 7);
		assert_null(s[n - 1].call_file);
		if (n < 3)
			continue;
		found = true;
		assert_string_equal(s[0].name, "twice");
		assert_int_equal(s[0].line, 2);
		assert_int_equal(s[0].call_line, 5);
		assert_string_equal(s[1].name, "middle");
		assert_int_equal(s[1].line, 4);
		assert_int_equal(s[1].call_line, 9);
		assert_non_null(strstr(s[1].call_file, "prog.c"));
		module_line(m, at, &file, &line);
		assert_non_null(strstr(file, "/prog.c"));
		assert_int_equal(line, 3);
		for (size_t i = 0; i < n; i++)
			assert_true(s[i].id < module_n_inlinings(m));
	}
	assert_true(found);
}

/* The inlined copy and the one by itself are one function: two ids would split it. */
static void check_one_id_a_function(struct module *m)
{
	const struct module_func *outer = func_named(m, "outer"), *middle = func_named(m, "middle");
	struct module_inlining s[MODULE_MAX_INLININGS] = { 0 };
	uint32_t inlined = UINT32_MAX, alone;

	for (uint64_t at = outer->vaddr; at < outer->vaddr + outer->size_bytes; at++)
		if (module_inlinings(m, at, s) == 3)
			inlined = s[1].id;
	alone = s[module_inlinings(m, middle->vaddr, s) - 1].id;
	assert_int_equal(inlined, alone);
}

/* Where folders are mapped out of the file, one unit calls a header "inc.h" and one in a folder below "../inc.h". */
static void a_header_by_two_relative_paths_is_one_file(void **state)
{
	static const char *const callers[] = { "one", "two" };
	uint32_t id[2] = { UINT32_MAX, UINT32_MAX };
	struct module_inlining s[MODULE_MAX_INLININGS];
	struct module *m;

	(void)state;
	shell("mkdir -p below && echo 'static inline __attribute__((always_inline)) int shared(int a)\n"
	      "{ return a * 3 ^ a; }' > inc.h");
	shell("echo '#include \"inc.h\"\nint one(int a)\n{ return shared(a) + 1; }' > one.c");
	shell("echo '#include \"../inc.h\"\nint two(int a)\n{ return shared(a) + 2; }' > below/two.c");
	shell("gcc -g -O2 -fPIC -ffile-prefix-map=$PWD=. -c one.c && cd below && "
	      "gcc -g -O2 -fPIC -ffile-prefix-map=$PWD=. -c two.c && cd .. && "
	      "gcc -shared one.o below/two.o -o headers.so");
	m = open_in_dir("headers.so", NULL);
	for (size_t i = 0; i < 2; i++) {
		const struct module_func *f = func_named(m, callers[i]);

		for (uint64_t at = f->vaddr; at < f->vaddr + f->size_bytes; at++)
			if (module_inlinings(m, at, s) == 2) {
				assert_string_equal(s[0].name, "shared");
				assert_string_equal(s[0].file, "inc.h");
				id[i] = s[0].id;
			}
		assert_int_not_equal(id[i], UINT32_MAX);
	}
	assert_int_equal(id[0], id[1]);
	module_free(m);
}

static void build(const char *flags, const char *name)
{
	shell("${CC_FOR_TESTS:-gcc} -O2 %s prog.c -o %s", flags, name);
}

static void inlined_inlinings_and_lines_are_found_in_dwarf_4_and_5(void **state)
{
	static const char *const flags[] = { "-gdwarf-4",
		                             "-gdwarf-5",
		                             "-gdwarf-5 -no-pie",
		                             "-gdwarf-4 -static",
		                             "-gdwarf-5 -gz",
		                             "-gdwarf-5 -gsplit-dwarf",
		                             "-g -ffunction-sections -Wl,--gc-sections" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct module *m;

		build(flags[i], "prog");
		m = open_in_dir("prog", NULL);
		assert_true(module_has_debug(m));
		check_inlinings(m);
		check_one_id_a_function(m);
		module_free(m);
	}
}

static void aliases_are_one_function_by_either_name(void **state)
{
	struct module *m;

	(void)state;
	build("-g", "prog");
	m = open_in_dir("prog", NULL);
	assert_true(module_func_named(m, "alias") >= 0);
	assert_int_equal(module_func_named(m, "alias"), module_func_named(m, "outer"));
	assert_int_equal(module_func_named(m, "nothing"), -1);
	assert_string_equal(module_aliases(m, "outer"), "alias");
	assert_null(module_aliases(m, "main"));
	assert_null(module_aliases(m, "nothing"));
	module_free(m);
}

/* As malloc, which debug information knows as __libc_malloc. */
static void of_its_names_a_function_has_the_one_that_others_call(void **state)
{
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	struct module *m;
	long func;

	(void)state;
	build("-g", "prog");
	m = open_in_dir("prog", NULL);
	func = module_func_named(m, "__own");
	assert_true(func >= 0);
	assert_int_equal(module_inlinings(m, module_func(m, (size_t)func)->vaddr, inlinings), 1);
	assert_string_equal(inlinings[0].name, "shown");
	assert_string_equal(inlinings[0].linkage, "shown");
	assert_int_equal(inlinings[0].line, 14);
	assert_string_equal(module_aliases(m, "shown"), "__own");
	module_free(m);
}

/* As exp in libm: what new programs are bound to stands behind what is kept for old ones. */
static void of_two_versions_the_default_one_is_found(void **state)
{
	struct module *m;
	long at;

	(void)state;
	shell("printf 'int old_f(void) { return 1; } int new_f(void) { return 2; }\\n"
	      "__asm__(\".symver old_f, f@V1\"); __asm__(\".symver new_f, f@@V2\");\\n' >versions.c && "
	      "echo 'V1 { global: f; }; V2 { global: f; } V1;' >versions.map && "
	      "cc -O0 -shared -fPIC -Wl,--version-script=versions.map versions.c -o versions.so");
	m = open_in_dir("versions.so", NULL);
	at = module_func_named(m, "f");
	assert_true(at >= 0);
	assert_int_equal(at, module_func_named(m, "new_f"));
	assert_true(module_func(m, (size_t)at)->vaddr >
	            module_func(m, (size_t)module_func_named(m, "old_f"))->vaddr);
	module_free(m);
}

static void functions_are_in_order_and_found_by_each_of_their_addresses(void **state)
{
	struct module *m;

	(void)state;
	build("-g -static", "prog");
	m = open_in_dir("prog", NULL);
	assert_true(module_n_funcs(m) > 100);
	for (size_t i = 0; i < module_n_funcs(m); i++) {
		const struct module_func *f = module_func(m, i);
		size_t n_bytes;

		assert_true(f->size_bytes > 0);
		assert_int_equal(module_func_at(m, f->vaddr), (long)i);
		assert_non_null(module_code(m, f->vaddr, &n_bytes));
		if (i)
			assert_true(module_func(m, i - 1)->vaddr < f->vaddr);
	}
	assert_int_equal(module_func_at(m, 0), -1);
	assert_int_equal(module_func_at(m, UINT64_MAX), -1);
	module_free(m);
}

/* Stripped: what .eh_frame tells is where functions start; without section headers, too. */
static void a_stripped_file_has_functions_where_the_whole_one_has_them(void **state)
{
	struct module *whole, *stripped;
	const struct module_func *outer, *f;
	long i;

	(void)state;
	build("-g", "prog");
	shell("strip -o bare prog");
	whole = open_in_dir("prog", NULL);
	stripped = open_in_dir("bare", NULL);
	outer = func_named(whole, "outer");
	i = module_func_at(stripped, outer->vaddr);
	assert_true(i >= 0);
	f = module_func(stripped, (size_t)i);
	assert_true(f->made_up);
	assert_int_equal(f->vaddr, outer->vaddr);
	assert_int_equal(f->size_bytes, outer->size_bytes);
	assert_non_null(strstr(f->name, "[bare+0x"));
	assert_false(module_has_debug(stripped));
	module_free(stripped);
	module_free(whole);
}

static void a_debug_link_beside_the_file_brings_symbols_and_lines_back(void **state)
{
	struct module *m;

	(void)state;
	build("-g", "prog");
	shell("objcopy --only-keep-debug prog prog.debug && strip -o bare prog && "
	      "objcopy --add-gnu-debuglink=prog.debug bare && mkdir -p .debug && mv prog.debug .debug/");
	m = open_in_dir("bare", NULL);
	assert_true(module_has_debug(m));
	check_inlinings(m);
	module_free(m);
	shell("rm -r .debug");
}

static void a_debug_directory_is_searched_by_build_id(void **state)
{
	struct module_options opts = { 0 };
	char path[PATH_MAX], id[PATH_MAX];
	struct module *m;

	(void)state;
	build("-g -Wl,--build-id", "prog");
	shell("strip -o bare prog");
	m = open_in_dir("bare", NULL);
	snprintf(id, sizeof(id), "%s", module_build_id(m));
	assert_int_equal(strlen(id), 40);
	assert_false(module_has_debug(m));
	module_free(m);
	shell("mkdir -p sys/.build-id/%.2s && objcopy --only-keep-debug prog sys/.build-id/%.2s/%s.debug", id,
	      id, id + 2);
	snprintf(path, sizeof(path), "%s/sys", dir);
	opts.debug_dir = path;
	m = open_in_dir("bare", &opts);
	assert_true(module_has_debug(m));
	check_inlinings(m);
	module_free(m);
}

static void symfs_is_put_before_the_path_and_a_deleted_mark_taken_off(void **state)
{
	const struct module_options opts = { .symfs = dir };
	struct module *m;

	(void)state;
	build("-g", "prog");
	assert_int_equal(module_open("/prog (deleted)", NULL, 0, &opts, &m), 0);
	assert_int_equal(module_state(m), MODULE_OK);
	assert_string_equal(module_path(m), "/prog (deleted)");
	module_free(m);
}

static void offsets_and_addresses_convert_both_ways(void **state)
{
	struct module *m;
	const struct module_func *f;
	uint64_t off, vaddr;
	size_t n_bytes;

	(void)state;
	build("-g -no-pie", "prog");
	m = open_in_dir("prog", NULL);
	f = func_named(m, "outer");
	assert_true(module_off(m, f->vaddr, &off));
	assert_true(off < f->vaddr);
	assert_true(module_vaddr(m, off, &vaddr));
	assert_int_equal(vaddr, f->vaddr);
	assert_false(module_off(m, 0x10, &off));
	assert_false(module_vaddr(m, UINT64_MAX, &vaddr));
	/* The table of pointers is data, not code. */
	assert_null(module_code(m, 0x10, &n_bytes));
	module_free(m);
}

/* In a PIE the table's two words are relative relocations to middle, and puts is called through the PLT. */
static void slots_tell_what_the_dynamic_linker_writes(void **state)
{
	struct module *m;
	const struct module_func *middle;
	const char *name;
	uint64_t target;
	bool ifunc;
	size_t n_pointers = 0, n_bytes;

	(void)state;
	shell("printf '#include <stdio.h>\\nint main(int c, char **v) { return puts(v[c - 1]); }\\n' > plt.c "
	      "&& "
	      "gcc -O2 -fpie -pie plt.c prog2.c -o prog -Wl,-z,lazy");
	m = open_in_dir("prog", NULL);
	middle = func_named(m, "middle");
	for (size_t i = 0; i < module_n_funcs(m); i++) {
		const struct module_func *f = module_func(m, i);

		if (!strcmp(f->name, "puts@plt"))
			n_pointers += 100;
	}
	for (uint64_t at = 0; at < 0x10000; at += 8)
		if (module_data(m, at, &n_bytes) && module_slot(m, at, &name, &target, &ifunc)) {
			n_pointers += !name && target == middle->vaddr && !ifunc;
			n_pointers += name && !strcmp(name, "puts") ? 10 : 0;
		}
	assert_int_equal(n_pointers, 112);
	assert_false(module_slot(m, 1, &name, &target, &ifunc));
	module_free(m);
}

static void another_build_id_is_a_mismatch_that_names_both(void **state)
{
	static const uint8_t other[20] = { 0xab, 0xcd }, zeros[20];
	char path[PATH_MAX];
	struct module *m;
	size_t n_bytes;

	(void)state;
	build("-g -Wl,--build-id", "prog");
	snprintf(path, sizeof(path), "%s/prog", dir);
	assert_int_equal(module_open(path, other, sizeof(other), NULL, &m), 0);
	assert_int_equal(module_state(m), MODULE_MISMATCH);
	assert_non_null(strstr(module_why(m), "abcd000000000000"));
	assert_non_null(strstr(module_why(m), module_build_id(m)));
	assert_non_null(strstr(module_why(m), "--symfs"));
	assert_int_equal(module_n_funcs(m), 0);
	assert_null(module_code(m, 0x1000, &n_bytes));
	module_free(m);
	/* Zeros stand for none. */
	assert_int_equal(module_open(path, zeros, sizeof(zeros), NULL, &m), 0);
	assert_int_equal(module_state(m), MODULE_OK);
	module_free(m);
}

static void a_file_that_no_build_id_tells_is_doubted_where_it_is_younger_than_the_recording(void **state)
{
	static const uint8_t zeros[20];
	struct module_options opts = { .no_debuginfod = true, .recorded = { .tv_sec = 1000000000 } };
	char path[PATH_MAX];
	struct module *m;

	(void)state;
	build("-g -Wl,--build-id=none", "nameless");
	snprintf(path, sizeof(path), "%s/nameless", dir);
	assert_int_equal(module_open(path, zeros, sizeof(zeros), &opts, &m), 0);
	assert_int_equal(module_state(m), MODULE_OK);
	assert_non_null(strstr(module_why(m), "written after the recording"));
	assert_non_null(strstr(module_why(m), "--symfs"));
	module_free(m);
	shell("touch -d @999999999 nameless");
	assert_int_equal(module_open(path, NULL, 0, &opts, &m), 0);
	assert_string_equal(module_why(m), "");
	module_free(m);
}

static void what_is_no_binary_gives_a_module_that_says_so(void **state)
{
	static const struct {
		const char *path;
		enum module_state module_state;
		const char *why;
	} list[] = {
		{ "/nonexistent/file", MODULE_MISSING, "No such file" },
		{ "/etc/passwd", MODULE_FOREIGN, "not an ELF file" },
		{ "/dev/null", MODULE_FOREIGN, "not a regular file" },
		{ "/", MODULE_FOREIGN, "not a regular file" },
		{ "[heap]", MODULE_MISSING, "data" },
		{ "[kernel.kallsyms]_text", MODULE_MISSING, "kernel" },
		{ "//anon", MODULE_MISSING, "memory without a file" },
		{ "", MODULE_MISSING, "memory without a file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct module_inlining inlinings[MODULE_MAX_INLININGS];
		const char *file;
		unsigned line;
		struct module *m;
		uint64_t out;

		assert_int_equal(module_open(list[i].path, NULL, 0, NULL, &m), 0);
		assert_int_equal(module_state(m), list[i].module_state);
		if (!strstr(module_why(m), list[i].why))
			fail_msg("'%s' lacks '%s'", module_why(m), list[i].why);
		assert_int_equal(module_isa(m), ISA_NONE);
		assert_int_equal(module_inlinings(m, 0, inlinings), 0);
		module_line(m, 0, &file, &line);
		assert_null(file);
		assert_false(module_has_debug(m));
		assert_false(module_vaddr(m, 0, &out));
		assert_int_equal(module_func_at(m, 0), -1);
		assert_int_equal(module_func_named(m, "main"), -1);
		module_free(m);
	}
}

static void the_vdso_is_read_from_this_process(void **state)
{
	struct module *m;

	(void)state;
	assert_int_equal(module_open("[vdso]", NULL, 0, NULL, &m), 0);
	if (module_state(m) != MODULE_OK) { /* some sandboxes have none */
		module_free(m);
		skip();
	}
	assert_true(module_func_named(m, "__vdso_clock_gettime") >= 0 ||
	            module_func_named(m, "__kernel_clock_gettime") >= 0);
	module_free(m);
}

/* Its age tells nothing, its build id and the kernel's release do. */
static void the_vdso_of_another_kernel_is_doubted(void **state)
{
	static const uint8_t other[20] = { 1 };
	struct module_options opts = { .no_debuginfod = true, .recorded = { .tv_sec = 1000000000 } };
	uint8_t id[PD_BUILD_ID_MAX];
	struct utsname here;
	struct module *m;
	size_t n = pd_vdso_build_id(id);

	(void)state;
	if (!n)
		skip();
	assert_int_equal(module_open("[vdso]", id, n, &opts, &m), 0);
	assert_int_equal(module_state(m), MODULE_OK);
	assert_string_equal(module_why(m), "");
	module_free(m);
	assert_int_equal(module_open("[vdso]", other, sizeof(other), &opts, &m), 0);
	assert_int_equal(module_state(m), MODULE_MISMATCH);
	module_free(m);
	uname(&here);
	opts.os_release = here.release;
	assert_int_equal(module_open("[vdso]", NULL, 0, &opts, &m), 0);
	assert_string_equal(module_why(m), "");
	module_free(m);
	opts.os_release = "0.1";
	assert_int_equal(module_open("[vdso]", NULL, 0, &opts, &m), 0);
	assert_non_null(strstr(module_why(m), "the recorded one 0.1"));
	module_free(m);
}

/* Cut anywhere, a file is refused or used as far as it goes. */
static void truncated_files_do_no_harm(void **state)
{
	static const unsigned cuts[] = { 0, 1, 16, 63, 64, 100, 500, 4096, 5000, 9000, 14000, 16000 };

	(void)state;
	build("-g", "prog");
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		char path[PATH_MAX];
		struct module_inlining inlinings[MODULE_MAX_INLININGS];
		struct module *m;

		shell("head -c %u prog > cut", cuts[i]);
		snprintf(path, sizeof(path), "%s/cut", dir);
		assert_int_equal(module_open(path, NULL, 0, NULL, &m), 0);
		for (size_t f = 0; f < module_n_funcs(m); f++)
			module_inlinings(m, module_func(m, f)->vaddr, inlinings);
		module_free(m);
	}
}

static int write_sources(void **state)
{
	char path[PATH_MAX];
	FILE *f;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/prog.c", dir);
	f = fopen(path, "w");
	if (!f || fputs(source, f) < 0 || fclose(f) != 0)
		return -1;
	shell("sed 's/int main/int other/' prog.c > prog2.c");
	return 0;
}

static int remove_sources(void **state)
{
	(void)state;
	shell("cd / && rm -rf %s", dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_inlinings_and_lines_are_found_in_dwarf_4_and_5),
		cmocka_unit_test(a_header_by_two_relative_paths_is_one_file),
		cmocka_unit_test(aliases_are_one_function_by_either_name),
		cmocka_unit_test(of_its_names_a_function_has_the_one_that_others_call),
		cmocka_unit_test(of_two_versions_the_default_one_is_found),
		cmocka_unit_test(functions_are_in_order_and_found_by_each_of_their_addresses),
		cmocka_unit_test(a_stripped_file_has_functions_where_the_whole_one_has_them),
		cmocka_unit_test(a_debug_link_beside_the_file_brings_symbols_and_lines_back),
		cmocka_unit_test(a_debug_directory_is_searched_by_build_id),
		cmocka_unit_test(symfs_is_put_before_the_path_and_a_deleted_mark_taken_off),
		cmocka_unit_test(offsets_and_addresses_convert_both_ways),
		cmocka_unit_test(slots_tell_what_the_dynamic_linker_writes),
		cmocka_unit_test(another_build_id_is_a_mismatch_that_names_both),
		cmocka_unit_test(
		        a_file_that_no_build_id_tells_is_doubted_where_it_is_younger_than_the_recording),
		cmocka_unit_test(what_is_no_binary_gives_a_module_that_says_so),
		cmocka_unit_test(the_vdso_is_read_from_this_process),
		cmocka_unit_test(the_vdso_of_another_kernel_is_doubted),
		cmocka_unit_test(truncated_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, write_sources, remove_sources);
}

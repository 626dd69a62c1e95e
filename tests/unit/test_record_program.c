/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "profiler/pmu/program.h"

static char folder[] = "/tmp/test_record_program.XXXXXX";

static int in_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", folder);
	return chdir("/") == 0 ? system(cmd) : -1;
}

static void make(const char *name, const void *bytes, size_t n, mode_t mode)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	chmod(name, mode);
}

static void make_elf(const char *name, unsigned char class, uint16_t machine, uint16_t type)
{
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT },
		         .e_type = type,
		         .e_machine = machine };

	make(name, &h, sizeof(h), 0755);
}

static int find(const char *name, struct program *p)
{
	char *argv[] = { (char *)name, (char *)"x y", NULL };

	return program_find(2, argv, p);
}

static void refused(const char *name, int code, const char *because)
{
	struct program p;

	assert_int_equal(find(name, &p), code);
	if (!strstr(sp_error_text(), because))
		fail_msg("'%s' lacks '%s'", sp_error_text(), because);
}

static void the_elf_header_decides_the_machine(void **state)
{
	struct program p;

	(void)state;
	make_elf("x86", ELFCLASS64, EM_X86_64, ET_DYN);
	assert_int_equal(find("./x86", &p), 0);
	assert_int_equal(p.isa, PROGRAM_X86_64);
	assert_string_equal(p.interp, "");
	program_fini(&p);
	make_elf("arm", ELFCLASS64, EM_AARCH64, ET_EXEC);
	assert_int_equal(find("./arm", &p), 0);
	assert_int_equal(p.isa, PROGRAM_AARCH64);
	program_fini(&p);
}

static void a_program_in_path_keeps_its_name(void **state)
{
	struct program p;

	(void)state;
	assert_int_equal(find("sh", &p), 0);
	assert_string_equal(p.argv[0], "sh");
	assert_string_equal(p.argv[1], "x y");
	assert_int_equal(p.path[0], '/');
	program_fini(&p);
}

static void a_script_becomes_its_interpreter_with_one_argument(void **state)
{
	static const char script[] = "#! /bin/sh -e -u \necho\n";
	struct program p;

	(void)state;
	make("script", script, sizeof(script) - 1, 0755);
	assert_int_equal(find("./script", &p), 0);
	assert_string_equal(p.path, "/bin/sh");
	assert_int_equal(p.argc, 4);
	assert_string_equal(p.argv[0], "/bin/sh");
	assert_string_equal(p.argv[1], "-e -u"); /* the kernel splits only once */
	assert_string_equal(p.argv[2], "./script");
	assert_string_equal(p.argv[3], "x y");
	program_fini(&p);
}

static void env_in_a_script_is_looked_through(void **state)
{
	static const char script[] = "#!/usr/bin/env sh\n", wrong[] = "#!/usr/bin/env nosuchprogram\n";
	struct program p;

	(void)state;
	make("byenv", script, sizeof(script) - 1, 0755);
	assert_int_equal(find("./byenv", &p), 0);
	assert_non_null(strstr(p.path, "/sh"));
	assert_string_equal(p.argv[0], "sh");
	assert_string_equal(p.argv[1], "./byenv");
	program_fini(&p);
	make("noenv", wrong, sizeof(wrong) - 1, 0755);
	refused("./noenv", -SP_ENOENT, "nosuchprogram is not in PATH");
}

static void scripts_of_scripts_end_somewhere(void **state)
{
	char self[256], line[300];

	(void)state;
	snprintf(self, sizeof(self), "%s/self", folder);
	snprintf(line, sizeof(line), "#!%s\n", self);
	make("self", line, strlen(line), 0755);
	refused("./self", -SP_ENOTSUP, "too deep");
}

static void what_cannot_be_run_is_refused_by_name(void **state)
{
	Elf64_Phdr ph = { .p_type = PT_INTERP, .p_offset = 1 << 20, .p_filesz = 20 };
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr ph;
	} cut = { .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		         .e_type = ET_DYN,
		         .e_machine = EM_X86_64,
		         .e_phoff = sizeof(Elf64_Ehdr),
		         .e_phentsize = sizeof(Elf64_Phdr),
		         .e_phnum = 1 },
		  .ph = ph };

	(void)state;
	make_elf("elf32", ELFCLASS32, EM_386, ET_EXEC);
	refused("./elf32", -SP_ENOTSUP, "32-bit");
	make_elf("riscv", ELFCLASS64, EM_RISCV, ET_EXEC);
	refused("./riscv", -SP_ENOTSUP, "another machine");
	make_elf("object", ELFCLASS64, EM_X86_64, ET_REL);
	refused("./object", -SP_ENOTSUP, "not a program");
	make("cut", &cut, sizeof(cut), 0755);
	refused("./cut", -SP_EFORMAT, "damaged");
	make("text", "hello\n", 6, 0755);
	refused("./text", -SP_ENOTSUP, "neither");
	make("empty", "", 0, 0755);
	refused("./empty", -SP_ENOTSUP, "neither");
	make("plain", "#!/bin/sh\n", 10, 0644);
	refused("./plain", -SP_ENOENT, "not executable");
	make("nointerp", "#!  \n", 5, 0755);
	refused("./nointerp", -SP_ENOTSUP, "interpreter");
	refused("./nothing", -SP_ENOENT, "no such program");
	refused("/", -SP_ENOENT, "folder");
	refused("", -SP_ENOENT, "empty");
	refused("text", -SP_ENOENT, "./text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_elf_header_decides_the_machine),
		cmocka_unit_test(a_program_in_path_keeps_its_name),
		cmocka_unit_test(a_script_becomes_its_interpreter_with_one_argument),
		cmocka_unit_test(env_in_a_script_is_looked_through),
		cmocka_unit_test(scripts_of_scripts_end_somewhere),
		cmocka_unit_test(what_cannot_be_run_is_refused_by_name),
	};

	return cmocka_run_group_tests_name("record_program", tests, in_folder, remove_folder);
}

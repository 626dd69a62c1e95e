/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sim_fixture.h"

#include "profiler/base/err.h"

static char *core_text(void)
{
	const char *top = getenv("TOP");
	char path[512], *text = calloc(1, 1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%s/profiler/sim/cores/zen5.core", top ? top : ".");
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 1000);
	fclose(f);
	return text;
}

/* The text with one line changed, which must be refused with these words. */
static void refused(const char *line, const char *instead, const char *words)
{
	char *text = core_text(), *at = strstr(text, line), out[1 << 16];
	struct sim_config c;

	assert_non_null(at);
	*at = '\0';
	at = strchr(at + 1, '\n');
	snprintf(out, sizeof(out), "%s%s%s", text, instead, at);
	assert_int_equal(sim_config_parse(out, strlen(out), &c), -SP_EFORMAT);
	if (!strstr(sp_error_text(), words))
		fail_msg("\"%s\" does not say \"%s\"", sp_error_text(), words);
	free(text);
}

static void all_shipped_cores_are_read(void **state)
{
	struct sim_config c;

	(void)state;
	read_core("zen5", &c);
	assert_int_equal(c.rob, 448);
	assert_int_equal(c.l2.kb, 1024);
	assert_int_equal(c.branch_records, 16);
	assert_int_equal(c.cls[SIM_C_IMUL].latency_cyc, 3);
	assert_int_equal(c.cls[SIM_C_IMUL].ports, 0x38);
	assert_int_equal(c.cls[SIM_C_NOP].ports, 0);
	assert_int_equal(c.skid[c.n_skid_bins - 1].weight_up_to, 21937);
	read_core("turin", &c);
	assert_int_equal(c.cls[SIM_C_FSQRT64].occupancy_16, 7 * 16 + 8);
	assert_int_equal(c.cls[SIM_C_MOVE].slots_milli, 1122);
	read_core("skylake", &c);
	assert_int_equal(c.fuse_branches, 0);
	assert_int_equal(c.cls[SIM_C_VLOAD].ports, c.cls[SIM_C_LOAD].ports);
	assert_int_equal(c.n_fixed, 2);
	read_core("cortex-a76", &c);
	assert_int_equal(c.branch_records, 0);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	refused("rob ", "robb 448", "\"robb\" is no key");
	refused("rob ", "", "key rob is missing");
	refused("rob ", "rob 448\nrob 448", "is given twice");
	refused("rob ", "rob many", "\"many\" is no number");
	refused("rob ", "rob 4k", "\"4k\" is no whole number");
	refused("rob ", "rob 100000", "\"100000\" is too large");
	refused("rob ", "rob 0", "\"rob\" is too small");
	refused("rob ", "rob 448 449", "\"449\" is one word too many");
	refused("rob ", "rob", "is no number");
	refused("freq_ghz", "freq_ghz fast", "no frequency");
	refused("freq_ghz", "", "freq_ghz is missing");
	refused("line_bytes", "line_bytes 48", "power of two");
	refused("l1_kb", "l1_kb 0", "too small");
	refused("class.alu", "class.alu 1 1", "ports");
	refused("class.alu", "class.alu 1 0 1", "no cycle");
	refused("class.alu", "class.alu 1 1 16", "too large");
	refused("class.alu", "class.aluu 1 1 1", "\"aluu\" is no instruction class");
	refused("class.alu", "", "class.alu is missing");
	refused("class.load", "class.load 0 1 -", "need ports");
	refused("skid ", "skid 10 10 5", "empty");
	refused("class.nop", "bind.alu 4\nclass.nop 1 1 -", "does not divide");
	refused("class.nop", "slots.none 4\nclass.nop 1 1 -", "no instruction class");
	refused("class.nop", "page_kb 6\nclass.nop 1 1 -", "power of two");
}

static void no_text_at_all_is_refused(void **state)
{
	struct sim_config c;

	(void)state;
	assert_int_equal(sim_config_parse("", 0, &c), -SP_EFORMAT);
	assert_int_equal(sim_config_parse("a\0b", 3, &c), -SP_EFORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_shipped_cores_are_read),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(no_text_at_all_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

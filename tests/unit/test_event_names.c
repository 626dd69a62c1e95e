/* SPDX-License-Identifier: GPL-3.0-or-later */
/* -e of a real processor: taken apart, and looked up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/event_code.h"
#include "profiler/pmu/event_group.h"

static void a_list_is_one_group(void **state)
{
	struct event_list l;

	(void)state;
	assert_int_equal(event_list_parse("instructions,cycles:uk/1009,r1c2:pp", &l), 0);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.n_groups, 1);
	assert_string_equal(l.v[0].name, "instructions");
	assert_false(l.v[0].user || l.v[0].kernel);
	assert_string_equal(l.v[1].name, "cycles");
	assert_true(l.v[1].user && l.v[1].kernel);
	assert_int_equal(l.v[1].period, 1009);
	assert_string_equal(l.v[2].name, "r1c2");
	assert_int_equal(l.v[2].precise, 2);
}

static void braces_make_groups(void **state)
{
	struct event_list l;

	(void)state;
	assert_int_equal(event_list_parse("{a,b:u}:k,{c/7},d", &l), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.n_groups, 3);
	assert_int_equal(l.v[1].group, 0);
	assert_int_equal(l.v[2].group, 1);
	assert_int_equal(l.v[3].group, 2);
	assert_true(l.v[0].kernel && !l.v[0].user);
	assert_true(l.v[1].kernel && l.v[1].user);
	assert_int_equal(l.v[2].period, 7);
}

/* perf's leader sampling.  A single event's S is a umask: the state of a cache line. */
static void of_a_group_the_first_alone_may_be_sampled(void **state)
{
	struct event_list l;

	(void)state;
	assert_int_equal(event_list_parse("{cycles,instructions}:Su,{a,b}:k,c:S", &l), 0);
	assert_int_equal(l.n, 5);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.v[i].by_first, i < 2);
	assert_true(l.v[1].user);
	assert_string_equal(l.v[4].name, "c:S");
}

static void umasks_stay_with_the_name(void **state)
{
	struct event_list l;

	(void)state;
	assert_int_equal(event_list_parse("BR_INST_RETIRED:NEAR_TAKEN:upp,skl::INST_RETIRED:ANY_P:c=1", &l),
	                 0);
	assert_string_equal(l.v[0].name, "BR_INST_RETIRED:NEAR_TAKEN");
	assert_int_equal(l.v[0].precise, 2);
	assert_string_equal(l.v[1].name, "skl::INST_RETIRED:ANY_P:c=1");
}

static void a_pmu_stands_before_slashes(void **state)
{
	struct event_list l;

	(void)state;
	/* As precise as can be, which is found by opening it. */
	assert_int_equal(event_list_parse("cycles:uP,cpu_core/cycles/P,{instructions}:P,INST_RETIRED:ANY_P",
	                                  &l),
	                 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(l.v[i].most_precise);
		assert_int_equal(l.v[i].precise, 0);
	}
	assert_false(l.v[3].most_precise);
	assert_string_equal(l.v[3].name, "INST_RETIRED:ANY_P");
	/* A unit's terms are its own to know; ibs is short for its one. */
	assert_int_equal(event_list_parse("ibs_op/cnt_ctl=1,swfilt/u/1600,ibs_fetch//,ibs:uk", &l), 0);
	assert_string_equal(l.v[0].pmu, "ibs_op");
	assert_string_equal(l.v[0].name, "cnt_ctl=1,swfilt");
	assert_int_equal(l.v[0].period, 1600);
	assert_string_equal(l.v[1].name, "");
	assert_string_equal(l.v[2].pmu, "ibs_op");
	assert_true(l.v[2].kernel);
	/* What SPE writes only perf can read. */
	assert_int_equal(event_list_parse("arm_spe_0//", &l), -SP_ENOTSUP);
	assert_int_equal(event_list_parse("cpu_core/cycles/up/1009,cpu_atom/r3c/,cycles/11", &l), 0);
	assert_string_equal(l.v[0].pmu, "cpu_core");
	assert_string_equal(l.v[0].name, "cycles");
	assert_true(l.v[0].user);
	assert_int_equal(l.v[0].precise, 1);
	assert_int_equal(l.v[0].period, 1009);
	assert_string_equal(l.v[1].pmu, "cpu_atom");
	assert_string_equal(l.v[1].name, "r3c");
	assert_string_equal(l.v[2].pmu, "");
	assert_int_equal(l.v[2].period, 11);
}

static void wrong_lists_are_refused(void **state)
{
	static const char *const wrong[] = { "",          ",",          "a,",           "{a",
		                             "{a,}",      "{}",         "a}",           "a b",
		                             ":u",        "cycles:",    "cycles:pppp",  "cycles:pP",
		                             "a/b",       "a/b/c/d",    "{{a}}",        "a/123x",
		                             "cycles:u:", "a/b c/",     "{a}{b}",       "a\nb",
		                             "{a},,b",    "cycles/1/2", "cpu/cycles/x", "/5" };
	char many[400] = "", name[200];
	struct event_list l;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (event_list_parse(wrong[i], &l) != -SP_EUSAGE)
			fail_msg("'%s' was taken", wrong[i]);
	for (int i = 0; i < EVENT_LIST_MAX + 1; i++)
		strcat(many, i ? ",a" : "a");
	assert_int_equal(event_list_parse(many, &l), -SP_EUSAGE);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(event_list_parse(name, &l), -SP_EUSAGE);
	assert_int_equal(event_list_parse("a/99999999999999999999", &l), -SP_EUSAGE);
}

static const char *sysfs = "/nowhere";

static int find(const char *text, const struct core_pmus *pmus, struct event_code *out)
{
	struct event_list l;

	assert_int_equal(event_list_parse(text, &l), 0);
	return event_code_find(sysfs, &l.v[0], pmus, out);
}

static void generic_and_raw_names_have_perfs_codes(void **state)
{
	const struct core_pmus alike = { .n = 0 };
	struct event_code c[EVENT_PMUS_MAX];

	(void)state;
	assert_int_equal(find("instructions", &alike, c), 1);
	assert_int_equal(c->type, PERF_TYPE_HARDWARE);
	assert_int_equal(c->config, 1);
	assert_int_equal(find("page-faults:u", &alike, c), 1);
	assert_int_equal(c->type, PERF_TYPE_SOFTWARE);
	assert_int_equal(c->config, 2);
	/* cache 3 (data TLB), operation 0 (read), result 1 (miss) */
	assert_int_equal(find("dTLB-load-misses", &alike, c), 1);
	assert_int_equal(c->type, PERF_TYPE_HW_CACHE);
	assert_int_equal(c->config, 3 | 0 << 8 | 1 << 16);
	assert_int_equal(find("rC0fe", &alike, c), 1);
	assert_int_equal(c->type, PERF_TYPE_RAW);
	assert_int_equal(c->config, 0xc0fe);
	assert_null(c->pmu);
}

static void unknown_names_get_a_suggestion(void **state)
{
	const struct core_pmus alike = { .n = 0 };
	struct event_code c[EVENT_PMUS_MAX];

	(void)state;
	assert_int_equal(find("instrutions", &alike, c), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "'instructions'"));
	assert_int_equal(find("cpu_core/cycles/", &alike, c), -SP_EUSAGE);
	assert_int_equal(find("zzzzzzzzzzzz", &alike, c), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "-e help"));
}

static void put_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A tree as /sys has it, of such units. */
static void make_devices(char *root, const char *const *names, size_t n)
{
	static const char *const parts[] = { "/bus", "/bus/event_source", "/bus/event_source/devices" };
	char folder[300];

	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < 3; i++) {
		snprintf(folder, sizeof(folder), "%s%s", root, parts[i]);
		assert_int_equal(mkdir(folder, 0700), 0);
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(folder, sizeof(folder), "%s/bus/event_source/devices/%s", root, names[i]);
		assert_int_equal(mkdir(folder, 0700), 0);
	}
}

static void remove_devices(const char *root)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

/* cpu_core with CPUs 0-3, cpu_atom with 4-7, and an uncore PMU, which is not asked. */
static void make_hybrid(char *root)
{
	static const char *const names[] = { "cpu_core", "cpu_atom", "uncore_imc" };
	char folder[300];

	make_devices(root, names, 3);
	for (int i = 0; i < 3; i++) {
		snprintf(folder, sizeof(folder), "%s/bus/event_source/devices/%s", root, names[i]);
		put_file(folder, "type", i == 0 ? "4\n" : i == 1 ? "10\n" : "24\n");
		put_file(folder, i == 2 ? "cpumask" : "cpus", i == 0 ? "0-3\n" : "4-7\n");
	}
}

/* IBS as Linux describes it; the kernel's clock stands for it, so that it can be opened.  folder  receives the unit's. */
static void make_ibs(char *root, bool filter, char *folder, size_t size)
{
	static const char *const names[] = { "ibs_op" };
	char part[400];

	make_devices(root, names, 1);
	snprintf(folder, size, "%s/bus/event_source/devices/ibs_op", root);
	put_file(folder, "type", "1\n");
	snprintf(part, sizeof(part), "%s/format", folder);
	assert_int_equal(mkdir(part, 0700), 0);
	put_file(part, "cnt_ctl", "config:19\n");
	put_file(part, "split", "config1:0-3,8-11\n");
	if (filter)
		put_file(part, "swfilt", "config2:0\n");
	snprintf(part, sizeof(part), "%s/events", folder);
	assert_int_equal(mkdir(part, 0700), 0);
	put_file(part, "ops", "cnt_ctl=1,split=0x21\n");
	put_file(part, "round", "round\n");
}

static void a_units_terms_are_what_sysfs_says(void **state)
{
	char root[] = "/tmp/skidprof-test-XXXXXX", folder[300];
	const struct core_pmus alike = { .n = 0 };
	struct event_code c[EVENT_PMUS_MAX];

	(void)state;
	make_ibs(root, true, folder, sizeof(folder));
	sysfs = root;
	assert_int_equal(find("ibs", &alike, c), 1);
	assert_int_equal(c->type, 1);
	assert_int_equal(c->config, 0);
	assert_int_equal(c->config2, 1); /* swfilt */
	assert_true(c->is_ibs && !c->all_modes);
	assert_int_equal(find("ibs_op/cnt_ctl/", &alike, c), 1);
	assert_int_equal(c->config, 1 << 19);
	assert_int_equal(find("ibs_op/ops/", &alike, c), 1);
	assert_int_equal(c->config, 1 << 19);
	assert_int_equal(c->config1, 0x201);
	assert_int_equal(find("ibs_op/config=0x70,config1=3/", &alike, c), 1);
	assert_int_equal(c->config, 0x70);
	assert_int_equal(find("ibs_op/cnt_ctl=2/", &alike, c), -SP_EUSAGE);
	assert_int_equal(find("ibs_op/split=0x100/", &alike, c), -SP_EUSAGE);
	assert_int_equal(find("ibs_op/cnt_ctl=x/", &alike, c), -SP_EUSAGE);
	assert_int_equal(find("ibs_op/cntctl=1/", &alike, c), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "ibs_op/format"));
	assert_int_equal(find("ibs_op/round/", &alike, c), -SP_EUSAGE);
	assert_int_equal(find("ibs_fetch//", &alike, c), -SP_ENOTSUP);
	assert_int_equal(find("uncore_imc/x=1/", &alike, c), -SP_EUSAGE);
	sysfs = "/nowhere";
	remove_devices(root);
}

static int choose(const char *root, const char *events, struct event_group *g)
{
	const struct record_opts opts = { .events = events, .period = 100003, .bursts_hz = 0 };

	return event_group_choose(root, &opts, g);
}

/* Kernels without a filter refuse an event that leaves out a mode, and all refuse what isn't a whole 16th. */
static void ibs_is_asked_for_as_the_kernel_takes_it(void **state)
{
	for (int filter = 0; filter < 2; filter++) {
		char root[] = "/tmp/skidprof-test-XXXXXX", folder[300];
		struct event_group g;
		int err;

		(void)state;
		make_ibs(root, filter, folder, sizeof(folder));
		err = choose(root, "ibs", &g);
		assert_int_equal(choose(root, "ibs:p", &(struct event_group){ .n = 0 }), -SP_EUSAGE);
		assert_int_equal(choose(root, "ibs,cycles", &(struct event_group){ .n = 0 }), -SP_EUSAGE);
		assert_non_null(strstr(sp_error_text(), "{ibs_op//}"));
		remove_devices(root);
		if (err == -SP_ENOTSUP) /* no perf_event_open here */
			continue;
		assert_int_equal(err, 0);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.v[0].attr.sample_period, 100000);
		assert_int_equal(g.v[0].attr.exclude_kernel, filter);
		assert_int_equal(g.v[0].attr.exclude_hv, filter);
		assert_int_equal(g.v[0].attr.config2, filter);
		assert_int_equal(g.v[0].attr.exclude_guest, 0);
		assert_string_equal(g.v[0].name, filter ? "ibs_op//u" : "ibs_op//uk");
	}
}

static void kinds_of_cores_get_events_of_their_own(void **state)
{
	char root[] = "/tmp/skidprof-test-XXXXXX";
	struct event_code c[EVENT_PMUS_MAX];
	struct core_pmus pmus;

	(void)state;
	make_hybrid(root);
	core_pmus_find(root, &pmus);
	remove_devices(root);
	assert_int_equal(pmus.n, 2);
	assert_string_equal(pmus.v[0].name, "cpu_core");
	assert_int_equal(CPU_COUNT(&pmus.v[1].cpus), 4);
	assert_true(CPU_ISSET(4, &pmus.v[1].cpus));
	/* Generic ones say the PMU in the upper half of their code, raw ones as their type. */
	assert_int_equal(find("cycles", &pmus, c), 2);
	assert_int_equal(c[0].type, PERF_TYPE_HARDWARE);
	assert_true(c[0].config == 4ull << 32);
	assert_true(c[1].config == 10ull << 32);
	assert_string_equal(c[1].pmu->name, "cpu_atom");
	assert_int_equal(find("cpu_atom/r3c/", &pmus, c), 1);
	assert_int_equal(c[0].type, 10);
	assert_int_equal(c[0].config, 0x3c);
	assert_int_equal(find("cpu-clock", &pmus, c), 1);
	assert_null(c[0].pmu);
	assert_int_equal(find("cpu_big/cycles/", &pmus, c), -SP_EUSAGE);
}

/* Tables of processors that this one is not: libpfm4 lets a variable of the environment choose. */
static void vendors_names_are_libpfm4s(void **state)
{
	const struct core_pmus alike = { .n = 0 };
	struct event_code c[EVENT_PMUS_MAX];

	(void)state;
#if defined(__x86_64__)
	/* Skylake: event C4h, umask 20h; INST_RETIRED.ANY_P is event C0h. */
	assert_int_equal(find("BR_INST_RETIRED:NEAR_TAKEN", &alike, c), 1);
	assert_int_equal(c->config & 0xffff, 0x20c4);
	assert_int_equal(find("inst_retired:any_p:u", &alike, c), 1);
	assert_int_equal(c->config & 0xffff, 0x00c0);
	assert_int_equal(c->type, PERF_TYPE_RAW);
	assert_int_equal(find("BR_INST_RETIRED:NEAR_NOTHING", &alike, c), -SP_EUSAGE);
	assert_non_null(strstr(sp_error_text(), "umask"));
	assert_int_equal(find("BR_INST_RETRED:NEAR_TAKEN", &alike, c), -SP_EUSAGE);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_one_group),
		cmocka_unit_test(braces_make_groups),
		cmocka_unit_test(of_a_group_the_first_alone_may_be_sampled),
		cmocka_unit_test(umasks_stay_with_the_name),
		cmocka_unit_test(a_pmu_stands_before_slashes),
		cmocka_unit_test(wrong_lists_are_refused),
		cmocka_unit_test(generic_and_raw_names_have_perfs_codes),
		cmocka_unit_test(unknown_names_get_a_suggestion),
		cmocka_unit_test(kinds_of_cores_get_events_of_their_own),
		cmocka_unit_test(a_units_terms_are_what_sysfs_says),
		cmocka_unit_test(ibs_is_asked_for_as_the_kernel_takes_it),
		cmocka_unit_test(vendors_names_are_libpfm4s),
	};

	/* Read once, when libpfm4 is first used. */
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

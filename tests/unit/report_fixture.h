/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_REPORT_FIXTURE_H
#define SKIDPROF_TESTS_REPORT_FIXTURE_H

/* A small profile made by hand for the tests of report/: two functions in one region and one outside. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static struct profile *profile_fixture(void)
{
	struct profile *p = calloc(1, sizeof(*p));
	static const struct profile_event events[] = {
		{ .name = "cycles", .period = 1009, .n_samples = 3000, .total = 3027000 },
		{ .name = "instructions", .period = 1000, .n_samples = 2000, .total = 2000000 },
		{ .name = "branches", .total = 100000 },
	};

	p->meta = (struct profile_meta){
		.input = "t.data",
		.cmdline = "./app",
		.hostname = "here",
		.cpudesc = "A core",
		.pmu = "simulated",
		.method = "full",
		.seed = 7,
		.n_events = 3,
		.insn_event = 1,
		.cyc_event = 0,
		.skid_source = SKID_MEASURED,
		.skid_p10_cyc = 310,
		.skid_median_cyc = 378,
		.skid_p90_cyc = 646,
		.n_skids = 3000,
		.n_samples = 5000,
		.cyc_per_event = 1,
		.truth_why = "",
	};
	p->meta.events = malloc(sizeof(events));
	memcpy(p->meta.events, events, sizeof(events));
	p->n_modules = 1;
	p->modules = calloc(1, sizeof(*p->modules));
	p->modules[0] = (struct profile_module){ "/bin/app", "abcd", "" };
	p->n_files = 2;
	p->files = calloc(2, sizeof(*p->files));
	p->file_dirs = calloc(2, sizeof(*p->file_dirs));
	p->files[0] = "";
	p->files[1] = "src/app.c";
	p->n_funcs = 3;
	p->funcs = calloc(3, sizeof(*p->funcs));
	p->funcs[0] = (struct profile_func){
		.name = "dot(int, int)",
		.linkage = "_Z3dotii",
		.file = 1,
		.line = 17,
		.inlined = true,
		.status = PROFILE_FIXED,
		.evidence = PROFILE_BY_MIX | PROFILE_BY_PATH,
		.n_samples = 500,
		.why = "",
		.count = { 500000, 1000000, 1200000, 1180000, 1220000, 1000000, 500 },
	};
	p->funcs[1] = (struct profile_func){
		.name = "main",
		.linkage = "main",
		.file = 1,
		.line = 30,
		.status = PROFILE_WEAK,
		.evidence = PROFILE_BY_TRIPS,
		.n_samples = 1400,
		.why = "one free flow is open",
		.rolled_status = PROFILE_FIXED,
		.rolled_evidence = PROFILE_BY_MIX,
		.rolled_why = "",
		.count = { 1400000, 1900000, 700000, 300000, 1100000, 1900000, 1400 },
		.rolled = { 1900000, 2900000, 1900000, 1850000, 1950000, 2900000, 1900 },
	};
	p->funcs[2] = (struct profile_func){
		.name = "setup",
		.linkage = "setup",
		.status = PROFILE_RAW,
		.n_samples = 100,
		.why = "outside any hot loop",
		.rolled_status = PROFILE_RAW,
		.rolled_why = "outside any hot loop",
		.count = { 100000, 2018, 100000, NAN, NAN, 2018, 100 },
		.rolled = { 100000, 2018, 100000, NAN, NAN, 2018, 100 },
	};
	p->n_regions = 1;
	p->regions = calloc(1, sizeof(*p->regions));
	p->regions[0] = (struct profile_region){
		.name = "main (app.c:33)",
		.vaddr = 0x401136,
		.n_blocks = 2,
		.n_edges = 3,
		.n_free = 2,
		.n_rank = 1,
		.raw_insn = 1900000,
		.insn = 1900000,
		.cyc = 2900000,
		.n_samples = 1900,
		.skid_periods = 37.8,
		.status = PROFILE_WEAK,
		.evidence = PROFILE_BY_MIX,
		.why = "one free flow is open",
		.n_draws = 2,
		.n_equations = 1,
	};
	p->regions[0].draws = calloc(4, sizeof(float));
	for (int i = 0; i < 4; i++)
		p->regions[0].draws[i] = (float[]){ 600000, 700000, 610000, 690000 }[i];
	p->regions[0].equations = calloc(1, sizeof(*p->regions[0].equations));
	p->regions[0].equations[0] = (struct profile_equation){ "branches", 100000, 100100, 50 };
	p->n_insns = 4;
	p->insns = calloc(4, sizeof(*p->insns));
	p->insns[0] = (struct profile_insn){ .vaddr = 0x401136,
		                             .func = 0,
		                             .phys_func = 1,
		                             .file = 1,
		                             .line = 18,
		                             .size_bytes = 4,
		                             .text = "add %rax, %rbx",
		                             .count = { 250000, 500000, 600000, 590000, 610000, 500000 } };
	p->insns[1] = (struct profile_insn){ .vaddr = 0x40113a,
		                             .func = 0,
		                             .phys_func = 1,
		                             .file = 1,
		                             .line = 18,
		                             .size_bytes = 4,
		                             .text = "imul %rax, %rcx",
		                             .count = { 250000, 500000, 600000, 590000, 610000, 500000 } };
	p->insns[2] =
	        (struct profile_insn){ .vaddr = 0x401150,
		                       .func = 1,
		                       .phys_func = 1,
		                       .file = 1,
		                       .line = 33,
		                       .block = 1,
		                       .status = PROFILE_WEAK,
		                       .text = "jne 0x401136",
		                       .count = { 1400000, 1900000, 700000, 300000, 1100000, 1900000 } };
	p->insns[3] = (struct profile_insn){ .vaddr = 0x402000,
		                             .func = 2,
		                             .phys_func = 2,
		                             .region = -1,
		                             .block = UINT32_MAX,
		                             .status = PROFILE_RAW,
		                             .text = "nop",
		                             .count = { 100000, 2018, 100000, NAN, NAN, 2018, 100 } };
	p->worst = PROFILE_WEAK;
	return p;
}

/* What report_print writes, malloc'd; *err its return value. */
__attribute__((unused)) static char *report_text(const struct profile *p, const struct report_opts *o,
                                                 int width, int *err)
{
	char *text = NULL;
	size_t size;
	struct term term = { .f = open_memstream(&text, &size), .width = width };

	*err = report_print(p, o, &term);
	fclose(term.f);
	return text;
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control flow of any code: the graph of a file made of the input's bytes, its
 * regions, their loops, those that the code counts, and a flow taken apart into
 * loops again.
 *
 * The first byte: aarch64 or not (1), the last function never returns (2),
 * functions less one (4 to 16).  The second: branches seen, 4 bytes each,
 * which follow as offsets from and to.  The rest is code.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correct/flow/region.h"
#include "correct/flow/trips.h"
#include "profiler/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VADDR = 0x401000, MOST_FUNCS = 8, MOST_SEEN = 16, MOST_CODE = 2048 };

/* A file with a section of code and symbols that share it out. */
struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr[5]; /* none, .text, .symtab, .strtab, .shstrtab */
	Elf64_Sym sym[MOST_FUNCS + 1];
	char names[16 * (MOST_FUNCS + 1)], sections[64];
	uint8_t code[MOST_CODE];
};

struct input {
	bool a64, no_return;
	size_t n_funcs, n_code;
	const uint8_t *code;
	struct flow_seen seen[MOST_SEEN];
	size_t n_seen;
};

static uint64_t place(const struct input *in, const uint8_t *two)
{
	uint64_t off = (uint64_t)(two[0] | two[1] << 8) % in->n_code;

	return VADDR + (in->a64 ? off & ~(uint64_t)3 : off);
}

static bool take_input(const uint8_t *data, size_t size, struct input *in)
{
	size_t n_seen;

	if (size < 2)
		return false;
	n_seen = data[1] % (MOST_SEEN + 1);
	if (size < 2 + 4 * n_seen + 16)
		return false;
	in->a64 = data[0] & 1;
	in->no_return = data[0] & 2;
	in->n_funcs = 1 + (data[0] >> 2) % MOST_FUNCS;
	in->code = data + 2 + 4 * n_seen;
	in->n_code = size - 2 - 4 * n_seen;
	if (in->n_code > MOST_CODE)
		in->n_code = MOST_CODE;
	for (size_t i = 0; i < n_seen; i++)
		in->seen[i] = (struct flow_seen){ .from_vaddr = place(in, data + 2 + 4 * i),
			                          .to_vaddr = place(in, data + 4 + 4 * i),
			                          .n = 1 };
	in->n_seen = n_seen;
	return true;
}

/* Functions of equal size; the code's end is the last one's. */
static void name_functions(const struct input *in, struct file *f)
{
	size_t each = in->n_code / in->n_funcs & ~(size_t)3;

	for (size_t i = 0; i < in->n_funcs; i++) {
		bool last = i + 1 == in->n_funcs;

		snprintf(f->names + 16 * (i + 1), 16, last && in->no_return ? "abort" : "f%zu", i);
		f->sym[i + 1] = (Elf64_Sym){ .st_name = (Elf64_Word)(16 * (i + 1)),
			                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			                     .st_shndx = 1,
			                     .st_value = VADDR + i * each,
			                     .st_size = last ? in->n_code - i * each : each };
	}
}

static void make_file(const struct input *in, struct file *f)
{
	static const char sections[64] = "\0.text\0.symtab\0.strtab\0.shstrtab";

	*f = (struct file){ .ehdr = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
		                                   ELFDATA2LSB, EV_CURRENT },
		                      .e_type = ET_EXEC,
		                      .e_machine = in->a64 ? EM_AARCH64 : EM_X86_64,
		                      .e_version = EV_CURRENT,
		                      .e_phoff = offsetof(struct file, phdr),
		                      .e_shoff = offsetof(struct file, shdr),
		                      .e_ehsize = sizeof(Elf64_Ehdr),
		                      .e_phentsize = sizeof(Elf64_Phdr),
		                      .e_phnum = 1,
		                      .e_shentsize = sizeof(Elf64_Shdr),
		                      .e_shnum = 5,
		                      .e_shstrndx = 4 },
		            .phdr = { .p_type = PT_LOAD,
		                      .p_flags = PF_R | PF_X,
		                      .p_offset = offsetof(struct file, code),
		                      .p_vaddr = VADDR,
		                      .p_filesz = in->n_code,
		                      .p_memsz = in->n_code } };
	f->shdr[1] = (Elf64_Shdr){ .sh_name = 1,
		                   .sh_type = SHT_PROGBITS,
		                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		                   .sh_addr = VADDR,
		                   .sh_offset = offsetof(struct file, code),
		                   .sh_size = in->n_code };
	f->shdr[2] = (Elf64_Shdr){ .sh_name = 7,
		                   .sh_type = SHT_SYMTAB,
		                   .sh_offset = offsetof(struct file, sym),
		                   .sh_size = (in->n_funcs + 1) * sizeof(Elf64_Sym),
		                   .sh_link = 3,
		                   .sh_info = 1,
		                   .sh_entsize = sizeof(Elf64_Sym) };
	f->shdr[3] = (Elf64_Shdr){ .sh_name = 15,
		                   .sh_type = SHT_STRTAB,
		                   .sh_offset = offsetof(struct file, names),
		                   .sh_size = sizeof(f->names) };
	f->shdr[4] = (Elf64_Shdr){ .sh_name = 23,
		                   .sh_type = SHT_STRTAB,
		                   .sh_offset = offsetof(struct file, sections),
		                   .sh_size = sizeof(f->sections) };
	memcpy(f->sections, sections, sizeof(sections));
	memcpy(f->code, in->code, in->n_code);
	name_functions(in, f);
}

static struct module *open_code(const struct input *in)
{
	static const struct module_options opts = { .no_debuginfod = true };
	static struct file file;
	static char path[64];
	static int fd = -1;
	struct module *m = NULL;

	make_file(in, &file);
	if (fd < 0) {
		fd = memfd_create("flow", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || pwrite(fd, &file, sizeof(file), 0) != (ssize_t)sizeof(file))
		abort();
	if (module_open(path, NULL, 0, &opts, &m) < 0 || module_state(m) != MODULE_OK)
		abort();
	return m;
}

static void check_graph(const struct flow_graph *g)
{
	for (size_t i = 0; i < g->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[i];

		if (!b->n_insn || b->insn0 + b->n_insn > g->n_insns || b->end_vaddr <= b->vaddr ||
		    b->func >= g->n_funcs || b->out0 + b->n_out > g->n_edges ||
		    b->in0 + b->n_in > g->n_edges || flow_block_at(g, b->module, b->vaddr) != (long)i ||
		    (i && b[-1].vaddr >= b->vaddr))
			abort();
	}
	for (size_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].from >= g->n_blocks || g->edges[i].to >= g->n_blocks ||
		    g->in[i] >= g->n_edges || (i && g->edges[i - 1].from > g->edges[i].from))
			abort();
}

static void check_region(const struct flow_graph *g, const struct flow_region *r)
{
	for (size_t i = 0; i < r->n_blocks; i++)
		if (r->blocks[i] >= g->n_blocks || (i && r->blocks[i - 1] >= r->blocks[i]))
			abort();
	for (size_t i = 0; i < r->n_edges; i++)
		if (r->edges[i] >= g->n_edges)
			abort();
}

static void check_regions(const struct flow_graph *g, const double *weight)
{
	struct flow_regions *regions = flow_regions_find(g, NULL, weight, 0, 0, NULL);

	for (size_t i = 0; i < regions->n; i++) {
		struct flow_regions *inner = flow_region_children(g, &regions->v[i], weight, 0);

		check_region(g, &regions->v[i]);
		for (size_t k = 0; k < inner->n; k++)
			check_region(g, &inner->v[k]);
		flow_regions_free(inner);
		flow_regions_free(flow_region_parts(g, &regions->v[i], weight, 0, NULL));
	}
	flow_regions_free(regions);
}

/* A loop's header is in it, what leads to it from outside is not, and the edge it is left by leads out. */
static void check_trips(const struct flow_graph *g, struct module *const *modules)
{
	uint8_t *all = malloc(g->n_blocks + 1);
	struct flow_trips trips;

	if (!all)
		abort();
	memset(all, 1, g->n_blocks);
	if (flow_trips_find(g, modules, all, &trips) < 0)
		abort();
	for (size_t i = 0; i < trips.n; i++) {
		const struct flow_trip *t = &trips.v[i];

		if (!flow_trip_holds(t, t->header) || t->exit >= g->n_edges ||
		    !flow_trip_holds(t, g->edges[t->exit].from) || flow_trip_holds(t, g->edges[t->exit].to))
			abort();
		for (size_t k = 0; k < t->n_entries; k++)
			if (flow_trip_holds(t, t->entries[k].from) || !t->entries[k].count)
				abort();
	}
	flow_trips_fini(&trips);
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	struct flow_hot hot[MOST_FUNCS];
	struct flow_graph *g = NULL;
	struct module *m;
	struct flow_input code = { .modules = (struct module *const *)&m, .n_modules = 1, .hot = hot };
	double *weight;

	sp_log_level_set(-1);
	if (!take_input(data, size, &in))
		return 0;
	m = open_code(&in);
	for (size_t i = 0; i < module_n_funcs(m) && i < MOST_FUNCS; i++)
		hot[code.n_hot++] = (struct flow_hot){ 0, module_func(m, i)->vaddr, 1 };
	code.seen = in.seen;
	code.n_seen = in.n_seen;
	if (flow_build(&code, &g) == 0) {
		check_graph(g);
		weight = calloc(g->n_blocks + 1, sizeof(*weight));
		if (!weight)
			abort();
		for (size_t i = 0; i < g->n_blocks; i++)
			weight[i] = 1;
		check_regions(g, weight);
		check_trips(g, code.modules);
		free(weight);
		flow_free(g);
	}
	module_free(m);
	return 0;
}

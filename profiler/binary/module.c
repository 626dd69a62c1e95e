/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/mem.h"
#include "profiler/binary/jitdump.h"
#include "profiler/binary/module_impl.h"
#include "profiler/binary/perf_map.h"
#include "profiler/perfdata/build_id_cache.h"

#include "profiler/base/begins.h"
#include "profiler/base/order.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

int module_unusable(struct module *m, enum module_state state, const char *fmt, ...)
{
	va_list args;

	m->state = state;
	va_start(args, fmt);
	free(m->why);
	m->why = mem_vprintf(fmt, args);
	va_end(args);
	return 0;
}

/* Names of mappings that no file stands behind. */
static bool is_pseudo(const char *path)
{
	return path[0] == '[' || begins(path, "//anon") || begins(path, "anon_inode:") ||
	       begins(path, "/anon_hugepage") || begins(path, "/memfd:") || begins(path, "/dev/zero") ||
	       begins(path, "/SYSV") || !path[0];
}

bool module_is_memory(const char *path)
{
	return (is_pseudo(path) && path[0] != '[') || perf_map_is_name(path);
}

bool module_is_made(const struct module *m)
{
	return m->read != NULL;
}

/* The layer of a jitdump that "jit-1234.dump#2" asks for; *len is the length of its path then. */
static uint32_t layer_of(const char *path, size_t *len)
{
	const char *mark = strrchr(path, '#');
	char *name = mark ? mem_strndup(path, (size_t)(mark - path)) : NULL;
	unsigned long layer = 0;

	if (name && jitdump_is_name(name) && mark[1] && strspn(mark + 1, "0123456789") == strlen(mark + 1)) {
		layer = strtoul(mark + 1, NULL, 10);
		*len = (size_t)(mark - path);
	}
	free(name);
	return layer > UINT32_MAX ? UINT32_MAX : (uint32_t)layer;
}

#define REMEDY "; give the directory that holds the right one with --symfs, or record again"

size_t module_remedy_at(const char *why)
{
	size_t n = strlen(why), tail = strlen(REMEDY);

	return n >= tail && !strcmp(why + n - tail, REMEDY) ? n - tail : n;
}

static const char *pseudo_reason(const char *path)
{
	if (begins(path, "[kernel") || begins(path, "[guest.kernel"))
		return "the kernel's code is not read";
	if (!strcmp(path, "[vsyscall]"))
		return "the kernel's old system call page: no file holds it";
	if (!strcmp(path, "[unmapped]"))
		return "code at addresses that no mapping in the file holds: it was mapped before the "
		       "recording began, or its record was lost";
	if (!strcmp(path, "[guest]"))
		return "a virtual machine's guest: what code that was is known inside it only";
	if (!strcmp(path, "[heap]") || begins(path, "[stack"))
		return "data, not a file: code run from here was generated";
	return "memory without a file, such as a just-in-time compiler's: there is nothing to read the code "
	       "from";
}

/* How long the ELF image in our own memory is: to the end of its section headers. */
static size_t image_bytes(const uint8_t *image)
{
	Elf64_Ehdr header;

	memcpy(&header, image, sizeof(header));
	return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

/* Our own process's vdso as a file, so that it is read like any other. */
static int open_vdso(void)
{
	const uint8_t *image =
	        (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: the kernel gives a number */
	size_t n_bytes, done = 0;
	int fd;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return -1;
	n_bytes = image_bytes(image);
	fd = memfd_create("vdso", MFD_CLOEXEC);
	while (fd >= 0 && done < n_bytes) {
		ssize_t n = write(fd, image + done, n_bytes - done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

bool module_path_is_made(const char *path)
{
	size_t len = strlen(path);

	return perf_map_is_name(path) || jitdump_is_name(path) || layer_of(path, &len) > 0;
}

static void open_file(struct module *m)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(m->path);
	bool was_deleted = len > strlen(deleted) && !strcmp(m->path + len - strlen(deleted), deleted);
	struct stat st;

	if (was_deleted)
		len -= strlen(deleted);
	layer_of(m->path, &len);
	m->opened = mem_printf("%s%.*s", m->opts.symfs ? m->opts.symfs : "", (int)len, m->path);
	m->fd = open(m->opened, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (m->fd < 0)
		module_unusable(m, MODULE_MISSING, "%s: %s%s" REMEDY, m->opened, strerror(errno),
		                was_deleted ? " (it was deleted or replaced while it ran)" : "");
	else if (fstat(m->fd, &st) < 0 || !S_ISREG(st.st_mode))
		module_unusable(m, MODULE_FOREIGN, "%s: not a regular file", m->opened);
}

static void open_path(struct module *m)
{
	if (!strcmp(m->path, "[vdso]") || !strcmp(m->path, "[vdso64]")) {
		m->fd = open_vdso();
		if (m->fd < 0)
			module_unusable(m, MODULE_MISSING, "[vdso]: this process has none to read");
		else
			m->opened = mem_strdup(m->path);
	} else if (is_pseudo(m->path)) {
		module_unusable(m, MODULE_MISSING, "%s: %s", m->path[0] ? m->path : "(no name)",
		                pseudo_reason(m->path));
	} else {
		open_file(m);
	}
}

static enum insn_isa isa_of(const GElf_Ehdr *header)
{
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return ISA_NONE;
	return header->e_machine == EM_X86_64    ? ISA_X86_64
	       : header->e_machine == EM_AARCH64 ? ISA_AARCH64
	                                         : ISA_NONE;
}

static bool is_pie(Elf *elf, const GElf_Phdr *dynamic)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		if (dyn.d_tag == DT_FLAGS_1)
			return dyn.d_un.d_val & DF_1_PIE;
	return false;
}

static void check_header(struct module *m)
{
	GElf_Ehdr header;

	m->elf = elf_begin(m->fd, ELF_C_READ_MMAP, NULL);
	if (!m->elf || elf_kind(m->elf) != ELF_K_ELF || !gelf_getehdr(m->elf, &header)) {
		module_unusable(m, MODULE_FOREIGN, "%s: not an ELF file", m->opened);
		return;
	}
	m->isa = isa_of(&header);
	if (m->isa == ISA_NONE) {
		module_unusable(m, MODULE_FOREIGN,
		                "%s: an ELF file for another machine (number %u), not x86-64 or aarch64",
		                m->opened, header.e_machine);
		return;
	}
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
		module_unusable(m, MODULE_FOREIGN, "%s: not a linked program or shared object", m->opened);
		return;
	}
	m->program = header.e_type == ET_EXEC;
	m->raw = (const uint8_t *)elf_rawfile(m->elf, &m->raw_bytes);
	if (!m->raw)
		module_unusable(m, MODULE_FOREIGN, "%s: can't be read: %s", m->opened, elf_errmsg(-1));
}

static void load_segments(struct module *m)
{
	size_t n = 0;

	if (elf_getphdrnum(m->elf, &n) < 0) {
		module_unusable(m, MODULE_FOREIGN, "%s: damaged program headers", m->opened);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;
		struct segment seg;

		if (!gelf_getphdr(m->elf, (int)i, &phdr))
			continue;
		m->program |= phdr.p_type == PT_DYNAMIC && is_pie(m->elf, &phdr);
		if (phdr.p_type != PT_LOAD || phdr.p_offset > m->raw_bytes)
			continue;
		seg = (struct segment){ phdr.p_vaddr, phdr.p_offset, phdr.p_filesz, phdr.p_memsz,
			                phdr.p_flags & PF_X };
		if (seg.file_bytes > m->raw_bytes - seg.off)
			seg.file_bytes = m->raw_bytes - seg.off; /* a truncated file */
		if (seg.vaddr + seg.mem_bytes < seg.vaddr || seg.vaddr + seg.file_bytes < seg.vaddr)
			continue;
		vec_add(&m->segments, seg);
	}
}

static void add_code(struct module *m, uint64_t vaddr, uint64_t size_bytes, const char *section,
                     uint64_t entry_bytes)
{
	size_t n_bytes;

	if (!size_bytes || !module_code(m, vaddr, &n_bytes))
		return;
	if (size_bytes > n_bytes)
		size_bytes = n_bytes;
	vec_add(&m->code, (struct code_range){ vaddr, size_bytes, section, entry_bytes });
}

static void load_code_ranges(struct module *m)
{
	size_t names = 0;

	elf_getshdrstrndx(m->elf, &names);
	for (Elf_Scn *scn = elf_nextscn(m->elf, NULL); scn; scn = elf_nextscn(m->elf, scn)) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(shdr.sh_flags & SHF_EXECINSTR))
			continue;
		name = elf_strptr(m->elf, names, shdr.sh_name);
		add_code(m, shdr.sh_addr, shdr.sh_size, name ? name : "", shdr.sh_entsize);
	}
	for (size_t i = 0; !m->code.n && i < m->segments.n; i++)
		if (m->segments.v[i].executable)
			add_code(m, m->segments.v[i].vaddr, m->segments.v[i].file_bytes, "", 0);
	if (m->code.n)
		qsort(m->code.v, m->code.n, sizeof(*m->code.v), order_u64);
}

static char *to_hex(const uint8_t *bytes, size_t n)
{
	char *text = mem_malloc(2 * n + 1);

	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* A file that nothing names may be another of the name. */
static void check_age(struct module *m)
{
	const struct timespec *end = &m->opts.recorded;
	struct stat st;

	if (!end->tv_sec || m->opts.symfs || m->fd < 0 || fstat(m->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_mtim.tv_sec < end->tv_sec ||
	    (st.st_mtim.tv_sec == end->tv_sec && st.st_mtim.tv_nsec < end->tv_nsec))
		return;
	free(m->why);
	m->why = mem_printf(
	        "%s: it may not be the file that ran: it was written after the recording, which has no "
	        "build id of it" REMEDY,
	        m->opened);
}

/* Nor is the vdso of another kernel the one that ran. */
static void check_release(struct module *m)
{
	struct utsname here;

	if (!m->opts.os_release || !*m->opts.os_release || uname(&here) < 0 ||
	    strcmp(here.release, m->opts.os_release) == 0)
		return;
	free(m->why);
	m->why = mem_printf(
	        "%s: it may not be the code that ran: this kernel is %s, the recorded one %s, and the "
	        "recording has no build id of it" REMEDY,
	        m->opened, here.release, m->opts.os_release);
}

static void check_build_id(struct module *m, const uint8_t *want, size_t want_bytes)
{
	const void *id = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(m->elf, &id);
	char *wanted;

	if (n > 0)
		m->build_id = to_hex(id, (size_t)n);
	/* Recorders write zeros where they could not read one. */
	if (!want_bytes || all_zero(want, want_bytes)) {
		if (is_pseudo(m->path))
			check_release(m);
		else
			check_age(m);
		return;
	}
	/* perf pads short ones with zeros up to 20 bytes. */
	if (n > 0 && (size_t)n < want_bytes && all_zero(want + n, want_bytes - (size_t)n))
		want_bytes = (size_t)n;
	if (n > 0 && (size_t)n == want_bytes && !memcmp(id, want, want_bytes))
		return;
	wanted = to_hex(want, want_bytes);
	module_unusable(m, MODULE_MISMATCH,
	                "%s: not the file that ran: its build id is %s, the recorded one %s" REMEDY,
	                m->opened, m->build_id ? m->build_id : "missing", wanted);
	free(wanted);
}

static void open_checked(struct module *m, const uint8_t *build_id, size_t build_id_bytes)
{
	if (m->state == MODULE_OK)
		check_header(m);
	if (m->state == MODULE_OK)
		check_build_id(m, build_id, build_id_bytes);
}

/* The file is gone, another build's, or another machine's or container's: perf may have kept the one that ran. */
static void open_cached(struct module *m, const uint8_t *build_id, size_t build_id_bytes)
{
	char *path = is_pseudo(m->path) || !build_id_bytes || all_zero(build_id, build_id_bytes)
	                     ? NULL
	                     : build_id_cache_find(build_id, build_id_bytes);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd < 0) {
		free(path);
		return;
	}
	elf_end(m->elf);
	if (m->fd >= 0)
		close(m->fd);
	free(m->opened);
	free(m->why);
	free(m->build_id);
	m->elf = NULL;
	m->why = m->build_id = NULL;
	m->fd = fd;
	m->opened = path;
	m->state = MODULE_OK;
	open_checked(m, build_id, build_id_bytes);
}

/* Code that a program made while it ran has a file of its own kind, if it has one. */
static int load_made(struct module *m, bool *made)
{
	size_t len = strlen(m->path);

	*made = true;
	if (perf_map_is_name(m->path))
		return made_load_names(m);
	if (made_is_jitdump(m->fd))
		return made_load_jitdump(m, layer_of(m->path, &len));
	*made = false;
	return 0;
}

static int load(struct module *m, const uint8_t *build_id, size_t build_id_bytes)
{
	bool made = false;
	int err = 0;

	if (kernel_is_name(m->path))
		return kernel_load_names(m, build_id, build_id_bytes);
	open_path(m);
	if (m->state == MODULE_OK)
		err = load_made(m, &made);
	if (err || made)
		return err;
	open_checked(m, build_id, build_id_bytes);
	if (m->state == MODULE_MISSING || m->state == MODULE_MISMATCH)
		open_cached(m, build_id, build_id_bytes);
	if (m->state == MODULE_OK)
		load_segments(m);
	if (m->state != MODULE_OK)
		return 0;
	load_code_ranges(m);
	debuglink_begin(m);
	slots_load(m);
	return symbols_load(m);
}

static void copy_options(struct module *m, const char *path, const struct module_options *opts)
{
	m->path = mem_strdup(path);
	m->opts.symfs = opts && opts->symfs ? mem_strdup(opts->symfs) : NULL;
	m->opts.debug_dir = opts && opts->debug_dir ? mem_strdup(opts->debug_dir) : NULL;
	m->opts.no_debuginfod = opts && opts->no_debuginfod;
	m->opts.recorded = opts ? opts->recorded : (struct timespec){ 0 };
	m->opts.os_release = opts ? opts->os_release : NULL;
	m->opts.kernel_text = opts ? opts->kernel_text : 0;
	m->opts.kernel_symbol = opts ? opts->kernel_symbol : NULL;
}

int module_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                const struct module_options *opts, struct module **out)
{
	struct module *m = mem_calloc(1, sizeof(*m));
	int err;

	m->fd = -1;
	elf_version(EV_CURRENT);
	copy_options(m, path, opts);
	err = load(m, build_id, build_id_bytes);
	if (err) {
		module_free(m);
		return err;
	}
	if (m->state != MODULE_OK)
		m->isa = ISA_NONE;
	*out = m;
	return 0;
}

void module_free(struct module *m)
{
	if (!m)
		return;
	debug_free(m->debug);
	dwarf_cfi_end(m->cfi);
	debuglink_end(m);
	vec_fini(&m->slots);
	vec_fini(&m->names);
	vec_fini(&m->names_by_vaddr);
	vec_fini(&m->spans);
	vec_fini(&m->funcs);
	vec_fini(&m->code);
	vec_fini(&m->segments);
	texts_fini(&m->pool);
	elf_end(m->elf);
	free(m->read);
	if (m->fd >= 0)
		close(m->fd);
	free((char *)m->opts.symfs);
	free((char *)m->opts.debug_dir);
	free(m->build_id);
	free(m->lacks);
	free(m->why);
	free(m->opened);
	free(m->path);
	free(m);
}

enum module_state module_state(const struct module *m)
{
	return m->state;
}

const char *module_lacks(const struct module *m)
{
	return m->lacks ? m->lacks : "";
}

const char *module_why(const struct module *m)
{
	return m->why ? m->why : "";
}

const char *module_path(const struct module *m)
{
	return m->path;
}

const char *module_build_id(const struct module *m)
{
	return m->build_id ? m->build_id : "";
}

bool module_is_program(const struct module *m)
{
	return m->program;
}

enum insn_isa module_isa(const struct module *m)
{
	return m->isa;
}

bool module_vaddr(const struct module *m, uint64_t off, uint64_t *vaddr)
{
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct segment *seg = &m->segments.v[i];

		if (off >= seg->off && off - seg->off < seg->file_bytes) {
			*vaddr = seg->vaddr + (off - seg->off);
			return true;
		}
	}
	return false;
}

/* Code that was made has a segment for each function, in address order. */
static const struct segment *made_segment_at(const struct module *m, uint64_t vaddr)
{
	size_t lo = sorted_count(m->segments.n, k, m->segments.v[k].vaddr <= vaddr);

	return lo && vaddr - m->segments.v[lo - 1].vaddr < m->segments.v[lo - 1].file_bytes
	               ? &m->segments.v[lo - 1]
	               : NULL;
}

static const struct segment *segment_at(const struct module *m, uint64_t vaddr, bool code)
{
	if (m->read)
		return made_segment_at(m, vaddr);
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct segment *seg = &m->segments.v[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->file_bytes && (!code || seg->executable))
			return seg;
	}
	return NULL;
}

bool module_off(const struct module *m, uint64_t vaddr, uint64_t *off)
{
	const struct segment *seg = segment_at(m, vaddr, false);

	if (seg)
		*off = seg->off + (vaddr - seg->vaddr);
	return seg != NULL;
}

static const uint8_t *bytes_at(const struct module *m, uint64_t vaddr, size_t *n_bytes, bool code)
{
	const struct segment *seg = m->state == MODULE_OK ? segment_at(m, vaddr, code) : NULL;

	if (!seg)
		return NULL;
	*n_bytes = seg->file_bytes - (vaddr - seg->vaddr);
	return m->raw + seg->off + (vaddr - seg->vaddr);
}

const uint8_t *module_code(const struct module *m, uint64_t vaddr, size_t *n_bytes)
{
	return bytes_at(m, vaddr, n_bytes, true);
}

const uint8_t *module_data(const struct module *m, uint64_t vaddr, size_t *n_bytes)
{
	return bytes_at(m, vaddr, n_bytes, false);
}

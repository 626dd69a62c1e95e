/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <sys/random.h>

#include "profiler/base/vec.h"
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/maps_int.h"

enum {
	MISC_FORK_EXEC = 1 << 13,
	KERNEL_PID = -1,
	/* Processes that ended are kept until so many more have: their last samples may come late. */
	N_DEAD = 1024,
};

static const char kernel_path[] = "[kernel.kallsyms]";

struct process {
	uint32_t pid;
	uint32_t n_threads; /* that we know to be alive */
	struct map_node *root;
	bool dead;
};

struct thread {
	uint32_t tid, pid;
	char *comm;
	bool dead;
};

/* The last tasks that ended, a ring. */
struct dead {
	uint32_t id[N_DEAD];
	size_t n;
};

struct maps {
	struct u32_table processes, threads; /* of struct process, struct thread */
	struct file_table files;
	struct map_node *kernel;
	struct map_seed seed;
	uint32_t kernel_file;
	struct dead processes_dead; /* pids */
	struct dead threads_dead;   /* tids of those that began no process */
};

int maps_new(struct maps **out)
{
	struct maps *m = calloc(1, sizeof(*m));

	/* Balance must not depend on what a file's maker can foresee; results never do. */
	if (m && getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) < 0)
		m->seed.state = (uintptr_t)m;
	if (!m || file_intern(&m->files, kernel_path, NULL, 0, &m->kernel_file) < 0) {
		maps_free(m);
		return sp_fail(SP_ENOMEM, "out of memory for address maps");
	}
	*out = m;
	return 0;
}

static void process_free(void *p)
{
	map_node_put(((struct process *)p)->root);
	free(p);
}

static void thread_free(void *p)
{
	free(((struct thread *)p)->comm);
	free(p);
}

void maps_free(struct maps *m)
{
	if (!m)
		return;
	u32_table_fini(&m->processes, process_free);
	u32_table_fini(&m->threads, thread_free);
	map_node_put(m->kernel);
	file_table_fini(&m->files);
	free(m);
}

static struct process *process_get(struct maps *m, uint32_t pid)
{
	struct process *p = u32_table_find(&m->processes, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p || u32_table_put(&m->processes, pid, p) < 0) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	return p;
}

static struct thread *thread_get(struct maps *m, uint32_t pid, uint32_t tid)
{
	struct thread *t = u32_table_find(&m->threads, tid);
	struct process *p = process_get(m, pid);

	if (!p)
		return NULL;
	if (t && t->pid == pid && !t->dead)
		return t;
	if (t) {
		/* A number used before names a new task now. */
		free(t->comm);
		t->comm = NULL;
	} else {
		t = calloc(1, sizeof(*t));
		if (!t || u32_table_put(&m->threads, tid, t) < 0) {
			free(t);
			return NULL;
		}
		t->tid = tid;
	}
	t->pid = pid;
	t->dead = false;
	p->n_threads++;
	p->dead = false;
	return t;
}

static bool is_anonymous(const char *path)
{
	static const char *const names[] = { "//anon",    "[heap]",         "[stack", "[anon",
		                             "/dev/zero", "/anon_hugepage", "/SYSV" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	}
	return !*path;
}

/* Where in the file the map's first byte is; pseudo files are addressed as maps.h says. */
static uint64_t start_off(const struct pd_mmap *mm, bool kernel)
{
	if (kernel || is_anonymous(mm->path))
		return mm->ip;
	return !strcmp(mm->path, "[vdso]") ? 0 : mm->pgoff_bytes;
}

/* perf writes the kernel's map as "[kernel.kallsyms]_text", naming its first symbol. */
static int intern(struct maps *m, const struct pd_mmap *mm, uint32_t *file)
{
	bool kernel = !strncmp(mm->path, kernel_path, sizeof(kernel_path) - 1);

	return file_intern(&m->files, kernel ? kernel_path : mm->path, mm->build_id, mm->build_id_bytes,
	                   file);
}

static int apply_mmap(struct maps *m, const struct pd_record *rec)
{
	const struct pd_mmap *mm = &rec->mmap;
	bool kernel = rec->pid == (uint32_t)KERNEL_PID;
	struct process *p = kernel ? NULL : process_get(m, rec->pid);
	struct map_range range = { .start = mm->ip, .off = start_off(mm, kernel), .hole = mm->data };

	if (!kernel && !p)
		return -SP_ENOMEM;
	if (__builtin_add_overflow(mm->ip, mm->len_bytes, &range.end))
		range.end = UINT64_MAX;
	if (range.end == range.start)
		return 0;
	if (!mm->data && intern(m, mm, &range.file) < 0)
		return -SP_ENOMEM;
	return map_insert(kernel ? &m->kernel : &p->root, &range, &m->seed);
}

static int set_comm(struct thread *t, const char *name)
{
	char *copy = t ? strdup(name) : NULL;

	if (!copy)
		return -SP_ENOMEM;
	free(t->comm);
	t->comm = copy;
	return 0;
}

static int apply_comm(struct maps *m, const struct pd_record *rec)
{
	struct thread *t = thread_get(m, rec->pid, rec->tid);

	if (rec->comm.exec && t) {
		struct process *p = process_get(m, rec->pid);

		map_node_put(p->root);
		p->root = NULL;
	}
	return set_comm(t, rec->comm.name);
}

static int apply_fork(struct maps *m, const struct pd_record *rec)
{
	struct thread *child, *parent = u32_table_find(&m->threads, rec->task.ptid);
	struct process *p, *from;

	/* A number used before names a new task now. */
	if (rec->pid != rec->task.ppid) {
		p = process_get(m, rec->pid);
		if (!p)
			return -SP_ENOMEM;
		from = u32_table_find(&m->processes, rec->task.ppid);
		map_node_put(p->root);
		p->root = from && !(rec->misc & MISC_FORK_EXEC) ? map_node_get(from->root) : NULL;
		p->n_threads = 0;
		p->dead = false;
	}
	child = thread_get(m, rec->pid, rec->tid);
	if (!child)
		return -SP_ENOMEM;
	return parent && parent != child && parent->comm ? set_comm(child, parent->comm) : 0;
}

static void forget_thread(struct maps *m, struct thread *t)
{
	u32_table_remove(&m->threads, t->tid);
	thread_free(t);
}

static void forget(struct maps *m, struct process *p)
{
	struct thread *t = u32_table_find(&m->threads, p->pid);

	if (t && t->pid == p->pid)
		forget_thread(m, t);
	u32_table_remove(&m->processes, p->pid);
	process_free(p);
}

/* One more has ended; true: *oldest makes room for it. */
static bool add_dead(struct dead *dead, uint32_t id, uint32_t *oldest)
{
	uint32_t *slot = &dead->id[dead->n++ % N_DEAD];

	*oldest = *slot;
	*slot = id;
	return dead->n > N_DEAD;
}

static void bury(struct maps *m, struct process *p)
{
	uint32_t pid;
	struct process *old =
	        add_dead(&m->processes_dead, p->pid, &pid) ? u32_table_find(&m->processes, pid) : NULL;

	if (old && old->dead && old != p)
		forget(m, old);
	p->dead = true;
}

static void bury_thread(struct maps *m, struct thread *t)
{
	uint32_t tid;
	struct thread *old =
	        add_dead(&m->threads_dead, t->tid, &tid) ? u32_table_find(&m->threads, tid) : NULL;

	if (old && old->dead && old != t)
		forget_thread(m, old);
	t->dead = true;
}

/* The name and the maps stay for a while: the kernel's own exit path is sampled too. */
static void apply_exit(struct maps *m, const struct pd_record *rec)
{
	struct thread *t = u32_table_find(&m->threads, rec->tid);
	struct process *p = u32_table_find(&m->processes, rec->pid);

	if (!t || t->pid != rec->pid || t->dead || !p)
		return;
	if (rec->tid != rec->pid)
		bury_thread(m, t);
	if (p->n_threads)
		p->n_threads--;
	if (!p->n_threads && !p->dead)
		bury(m, p);
}

int maps_apply(struct maps *m, const struct pd_record *rec)
{
	int rc = 0;

	if (pd_is_guests(rec))
		return 0;
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		rc = apply_mmap(m, rec);
		break;
	case PERF_RECORD_COMM:
		rc = apply_comm(m, rec);
		break;
	case PERF_RECORD_FORK:
		rc = apply_fork(m, rec);
		break;
	case PERF_RECORD_EXIT:
		apply_exit(m, rec);
		break;
	default:
		break;
	}
	return rc < 0 ? sp_fail(SP_ENOMEM, "out of memory for address maps") : 0;
}

bool maps_find(const struct maps *m, uint32_t pid, uint64_t ip, struct maps_place *out)
{
	const struct process *p = u32_table_find(&m->processes, pid);
	const struct map_node *n = p ? map_find(p->root, ip) : NULL;

	if (!n)
		n = map_find(m->kernel, ip);
	if (n && n->range.hole)
		return false;
	if (n) {
		*out = (struct maps_place){ n->range.file, ip - n->range.start + n->range.off };
		return true;
	}
	/* The upper half is the kernel's, even where it hid its own map from the recorder. */
	if (ip >> 63) {
		*out = (struct maps_place){ m->kernel_file, ip };
		return true;
	}
	return false;
}

size_t maps_n_files(const struct maps *m)
{
	return m->files.v.n;
}

const struct maps_file *maps_file(const struct maps *m, uint32_t file)
{
	return &m->files.v.v[file]->pub;
}

const char *maps_comm(const struct maps *m, uint32_t pid, uint32_t tid, char room[MAPS_COMM_ROOM])
{
	const struct thread *t = u32_table_find(&m->threads, tid);

	/* The idle threads of all processors are one here, of which no record tells the name. */
	if (!pid && !tid)
		return "swapper";
	if (t && t->pid == pid && t->comm)
		return t->comm;
	snprintf(room, MAPS_COMM_ROOM, ":%u", tid);
	return room;
}

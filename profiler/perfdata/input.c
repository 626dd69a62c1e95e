/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/perfdata/reader_int.h"

static int open_fd(struct pd_input *in, const char *path)
{
	struct stat st;

	/* A copy of standard input, so that closing is the same for all. */
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(0, F_DUPFD_CLOEXEC, 3);
	if (in->fd < 0 && errno == ENOENT)
		return sp_fail(SP_ENOENT,
		               "%s: no such file; record one with \"skidprof record\" or name it with -i",
		               path);
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return sp_fail_errno("%s: can't be opened; record one of your own, or name another with -i",
		                     path);
	in->seekable = S_ISREG(st.st_mode);
	in->size_bytes = in->seekable ? (uint64_t)st.st_size : UINT64_MAX;
	return 0;
}

int pd_input_open(struct pd_input *in, const char *path)
{
	int rc;

	in->path = strdup(strcmp(path, "-") ? path : "standard input");
	in->buf = malloc(PD_WINDOW_BYTES);
	if (!in->path || !in->buf)
		return sp_fail(SP_ENOMEM, "%s: out of memory", path);
	rc = open_fd(in, path);
	if (rc < 0)
		return rc;
	/* Standard input may have been read from before it came to us. */
	if (in->seekable && lseek(in->fd, 0, SEEK_SET) < 0)
		return sp_fail_errno("%s: can't be read from its start", path);
	in->limit = in->size_bytes;
	return 0;
}

void pd_input_close(struct pd_input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	free(in->buf);
	free(in->path);
}

static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got;
}

int pd_input_fill(struct pd_input *in, size_t want, size_t *have)
{
	if (in->n - in->at < want && in->at) {
		memmove(in->buf, in->buf + in->at, in->n - in->at);
		in->n -= in->at;
		in->at = 0;
	}
	while (in->n - in->at < want && !in->eof) {
		uint64_t left = in->limit - (in->off + (in->n - in->at));
		size_t room = PD_WINDOW_BYTES - in->n;
		ssize_t got = left ? read_some(in->fd, in->buf + in->n, left < room ? left : room) : 0;

		if (got < 0)
			return sp_fail_errno("%s: read at %ju", in->path, (uintmax_t)in->off);
		if (!got)
			in->eof = true;
		in->n += (size_t)got;
	}
	*have = in->n - in->at;
	return 0;
}

int pd_input_seek(struct pd_input *in, uint64_t off)
{
	if (off > INT64_MAX || lseek(in->fd, (off_t)off, SEEK_SET) < 0)
		return sp_fail_errno("%s: seek to %ju", in->path, (uintmax_t)off);
	in->off = off;
	in->at = in->n = 0;
	in->eof = false;
	return 0;
}

int pd_input_skip(struct pd_input *in, uint64_t n, uint64_t *missing)
{
	size_t have = in->n - in->at;
	int rc;

	*missing = 0;
	if (n > have && in->seekable) {
		uint64_t left = in->limit > in->off ? in->limit - in->off : 0;

		*missing = n > left ? n - left : 0;
		return pd_input_seek(in, in->off + (n - *missing));
	}
	for (;;) {
		size_t step = n < have ? n : have;

		in->at += step;
		in->off += step;
		n -= step;
		if (!n)
			return 0;
		rc = pd_input_fill(in, 1, &have);
		if (rc < 0)
			return rc;
		if (!have) {
			*missing = n;
			return 0;
		}
	}
}

int pd_input_pread(const struct pd_input *in, uint64_t off, void *buf, size_t n, size_t *have)
{
	*have = 0;
	while (*have < n && off + *have < in->size_bytes) {
		ssize_t got = pread(in->fd, (uint8_t *)buf + *have, n - *have, (off_t)(off + *have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sp_fail_errno("%s: read at %ju", in->path, (uintmax_t)(off + *have));
		if (!got)
			break;
		*have += (size_t)got;
	}
	return 0;
}

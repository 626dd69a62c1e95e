/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_ERR_H
#define SKIDPROF_BASE_ERR_H

/*
 * Errors.  A function that can fail returns 0 or a negative code of enum
 * sp_error.  The one who knows the facts words the message, once, with
 * sp_fail(); main() prints it.  Nothing below main() prints an error, but mem.h that there is no memory.
 */

enum sp_error {
	SP_EFORMAT = 1, /* a file is not what it should be */
	SP_EIO,         /* the system refused: open, read, write, fork ... */
	SP_ENOMEM,      /* out of memory, or an input asks for too much of it */
	SP_EDOMAIN,     /* numbers no answer exists for */
	SP_EUSAGE,      /* the command line is wrong: exit status 2 */
	SP_ENOTSUP,     /* this machine, kernel or binary can't do it */
	SP_ENOENT,      /* what was asked for is not there */
	SP_EDOUBT,      /* done, but not to be trusted: exit status 3 */
};

/*
 * Word the error message of this thread (replacing an earlier one) and
 * return -code, so that "return sp_fail(SP_EFORMAT, ...)" is one line.  Say
 * the file, the offset and what to do next; no newline at the end.
 */
int sp_fail(enum sp_error code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, with ": strerror(errno)" added; ENOMEM gives -SP_ENOMEM, anything else -SP_EIO. */
int sp_fail_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Put "text: " before the message there is; returns code unchanged. */
int sp_fail_prefix(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* It sees one file at a time: tell it that a failure is negative. */
#define sp_fail(code, ...)        (sp_fail(code, __VA_ARGS__), -(int)(code))
#define sp_fail_errno(...)        (sp_fail_errno(__VA_ARGS__), -(int)SP_EIO)
#define sp_fail_prefix(code, ...) (sp_fail_prefix(code, __VA_ARGS__), (code))
#endif

/* The message of the last failure in this thread; "" if there was none. Borrowed. */
const char *sp_error_text(void);

/* The exit status that a return value stands for: 0, 1, 2 or 3. */
int sp_exit_status(int code);

#endif

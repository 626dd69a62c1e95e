/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Defined for the analyzer, which must see the functions themselves here. */
#undef sp_fail
#undef sp_fail_errno
#undef sp_fail_prefix

static _Thread_local char error_text[1024];

int sp_fail(enum sp_error code, const char *fmt, ...)
{
	char text[sizeof(error_text)];
	va_list ap;

	/* The old message may be among the arguments. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(error_text, text, strlen(text) + 1);
	return -(int)code;
}

int sp_fail_errno(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	n = strlen(error_text);
	snprintf(error_text + n, sizeof(error_text) - n, ": %s", strerror(saved));
	return saved == ENOMEM ? -SP_ENOMEM : -SP_EIO;
}

int sp_fail_prefix(int code, const char *fmt, ...)
{
	char old[sizeof(error_text)];
	va_list ap;
	size_t n;

	memcpy(old, error_text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	n = strlen(error_text);
	snprintf(error_text + n, sizeof(error_text) - n, ": %s", old);
	return code;
}

const char *sp_error_text(void)
{
	return error_text;
}

int sp_exit_status(int code)
{
	switch (-code) {
	case 0:
		return 0;
	case SP_EUSAGE:
		return 2;
	case SP_EDOUBT:
		return 3;
	default:
		return 1;
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_JUDGE_REASONS_H
#define SKIDPROF_CORRECT_JUDGE_REASONS_H

/*
 * Whether to trust a count: the rows of reasons.def, as constants.  Of the reason `leak`, say,
 *
 *   reason_limit_leak    the threshold
 *   reason_verdict_leak  the verdict on a scope or region at best, past it
 *   reason_status_leak   the same as the status of a function
 *   reason_text_leak     the sentence, a format that compilers check
 */
#include "correct/known.h"

/* On a scope or a region.  VERDICT_RAW: nothing speaks against the raw counts, and they stay: no draws. */
enum problem_verdict { VERDICT_OK, VERDICT_WEAK, VERDICT_RAW, VERDICT_UNRELIABLE };

/* With these the C library chooses under the emulator, which has neither AVX-512 nor transactions, what it chooses on the processor. */
#define REASON_TUNABLES \
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512BW,-AVX512F,-RTM,-Prefer_No_VZEROUPPER"

#define REASON(key, status, limit, text)                                           \
	static const double reason_limit_##key = (limit);                          \
	static const char reason_text_##key[] = text;                              \
	static const enum problem_verdict reason_verdict_##key = VERDICT_##status; \
	static const enum profile_status reason_status_##key = PROFILE_##status;
#define LIMIT(key, limit) static const double reason_limit_##key = (limit);
#include "correct/judge/reasons.def"

/* The verdict and the sentence of a reason: two arguments of solution_doubt(). */
#define REASON_OF(key) (enum problem_verdict) reason_verdict_##key, reason_text_##key

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/period.h"

#include <stdbool.h>

#include "profiler/base/log.h"

enum { SAFE_PERIOD = 5003 }; /* interrupts' delays end well below */

static bool is_prime(uint64_t n)
{
	for (uint64_t d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

void period_judge(uint64_t period)
{
	uint64_t prime = period;

	while (!is_prime(prime))
		prime++;
	if (prime != period)
		sp_note("period %ju is not prime: of a loop whose length shares a factor with it only some "
		        "instructions are seen; %ju is prime",
		        (uintmax_t)period, (uintmax_t)prime);
	if (period < SAFE_PERIOD)
		sp_warn("with a period of %ju a counter may overflow again before its interrupt comes: "
		        "overshoots beyond a period can't be told",
		        (uintmax_t)period);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of constants: each has a range around its value, and can be set for an experiment and put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "correct/model/model.h"
#include "profiler/base/err.h"

static void each_value_lies_in_its_range_and_has_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < model_n_rows(); i++) {
		struct model_row r = model_row(i);

		if (!(r.least <= r.value && r.value <= r.most && r.least < r.most) || r.now != r.value)
			fail_msg("%s: %g is not from %g to %g, or is %g", r.key, r.value, r.least, r.most,
			         r.now);
		if (strlen(r.reason) < 10 || r.reason[strlen(r.reason) - 1] == '.')
			fail_msg("%s: no reason, or one that ends with a point: %s", r.key, r.reason);
	}
}

static void each_can_be_set_and_is_named_then(void **state)
{
	(void)state;
	for (size_t i = 0; i < model_n_rows(); i++) {
		struct model_row r = model_row(i);
		double other = r.value == r.most ? r.least : r.most;
		char text[128];

		snprintf(text, sizeof(text), "%s=%.17g", r.key, other);
		assert_int_equal(model_set(text), 0);
		assert_true(model_row(i).now == other);
		snprintf(text, sizeof(text), "%s=%.9g", r.key, other);
		assert_string_equal(model_changed(), text);
		model_reset();
		assert_null(model_changed());
	}
}

static void all_changed_are_named_in_order(void **state)
{
	(void)state;
	assert_int_equal(model_set("few=20"), 0);
	assert_int_equal(model_set("many=200"), 0);
	assert_int_equal(model->few, 20);
	assert_string_equal(model_changed(), "few=20, many=200");
	assert_int_equal(model_set("few=10"), 0);
	assert_string_equal(model_changed(), "many=200");
	model_reset();
}

static void what_is_no_constant_or_no_value_of_it_is_refused(void **state)
{
	static const char *const bad[] = {
		"",        "=",       "few",     "few=",        "few=x",      "few=1.5",
		"few=10x", "few=-1",  "few=0",   "few=1e99",    "few=nan",    "fe=10",
		"=10",     "few =10", "small=2", "small=1e999", "small=-0.1", "FEW=10"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (model_set(bad[i]) != -SP_EUSAGE)
			fail_msg("'%s' was taken", bad[i]);
		assert_null(model_changed());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_lies_in_its_range_and_has_a_reason),
		cmocka_unit_test(each_can_be_set_and_is_named_then),
		cmocka_unit_test(all_changed_are_named_in_order),
		cmocka_unit_test(what_is_no_constant_or_no_value_of_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

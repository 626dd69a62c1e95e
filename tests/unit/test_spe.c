/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/perfdata/spe.h"

/* Bits 55:0 of a PC packet are the address, 62:61 the exception level, 63 that it is not secure: 0x80 on top is el0, 0xa0 el1. */
#define PC_USER   0xb0, 0x34, 0x12, 0xde, 0xc0, 0xaa, 0xaa, 0x00, 0x80
#define PC_KERNEL 0xb0, 0x00, 0x10, 0x00, 0x08, 0x00, 0x80, 0xff, 0xa0
#define RETIRED   0x42, 0x02 /* a byte of events: bit 1 */
/* 0x0102030405060708 */
#define STAMP 0x71, 8, 7, 6, 5, 4, 3, 2, 1

static const uint64_t user_pc = 0xaaaac0de1234, kernel_pc = 0xffff800008001000, stamp = 0x0102030405060708;

static struct spe_decoder d;

static void fresh(uint64_t off)
{
	d = (struct spe_decoder){ .off = off };
}

/* The next record of bytes. */
static bool next(const uint8_t **p, const uint8_t *end, struct spe_record *rec)
{
	return spe_next(&d, p, end, rec);
}

static void a_record_ends_with_its_timestamp(void **state)
{
	static const uint8_t bytes[] = { PC_USER, 0x65, 0x80, 0x5f, 0, 0, RETIRED, STAMP };
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, user_pc);
	assert_int_equal(rec.el, 0);
	assert_int_equal(rec.context, 0x5f80);
	assert_int_equal(rec.events, SPE_EV_RETIRED);
	assert_int_equal(rec.timestamp, stamp);
	assert_int_equal(rec.has, SPE_PC | SPE_EVENTS | SPE_CONTEXT | SPE_TIMESTAMP);
	assert_false(next(&p, end, &rec));
	assert_ptr_equal(p, end);
	assert_int_equal(d.damaged_bytes + d.n_cut, 0);
}

static void or_with_END_and_then_it_has_none(void **state)
{
	/* Events of eight, four and two bytes; padding between packets and behind END. */
	static const uint8_t bytes[] = { 0x72, 2,    0, 0, 0, 0, 0,       0, 1,    0, 0, PC_KERNEL, 1, 0,
		                         0,    0x62, 2, 0, 2, 0, PC_USER, 1, 0x52, 0, 2, PC_USER,   1 };
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, kernel_pc);
	assert_int_equal(rec.el, 1);
	assert_int_equal(rec.events, 1ull << 56 | 2);
	assert_int_equal(rec.has, SPE_PC | SPE_EVENTS);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.events, 1 << 17 | 2);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.events, 1 << 9);
	assert_int_equal(rec.pc, user_pc);
	assert_false(next(&p, end, &rec));
}

static void what_a_sample_does_not_need_is_stepped_over(void **state)
{
	static const uint8_t bytes[] = {
		0x49,    0x00,                                            /* a load */
		0xb2,    1,     1,    1,    1,    1,    1,    1,    1,    /* its address */
		0xb3,    1,     1,    1,    1,    1,    1,    1,    0x80, /* the physical one */
		0x9a,    1,     0,                                        /* cycles of translation */
		0x43,    1,        /* where the data came from, in one byte and in two */
		0x53,    1,     1, /*  */
		0xb1,    1,     1,    1,    1,    1,    1,    1,    0x80, /* target */
		0xb4,    1,     1,    1,    1,    1,    1,    1,    0x80, /* target of the branch before */
		0x21,    0xb0,  1,    1,    1,    1,    1,    1,    1,
		1,                                   /* address 8, which is none of today's */
		0x20,    0x98,  1,    1,             /* a counter, by an extended header */
		0x4a,    0x01,                       /* a branch */
		0x48,    0x00,                       /* another operation */
		0x98,    1,     1,    0x99, 1,    1, /* counters */
		0x20,    0xb0,  0x34, 0x12, 0xde, 0xc0, 0xaa, 0xaa, 0,
		0x80, /* the PC, by an extended header */
		RETIRED, STAMP,
	};
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, user_pc);
	assert_int_equal(rec.has, SPE_PC | SPE_EVENTS | SPE_TIMESTAMP);
	assert_ptr_equal(p, end);
	assert_int_equal(d.damaged_bytes + d.n_cut, 0);
}

static void an_alignment_goes_to_the_next_multiple(void **state)
{
	/* 0x22, 0: to a multiple of 2 << 2 = 8.  At 3 that is five bytes, header and all; at 8 it is eight. */
	static const uint8_t bytes[] = { 0x22, 0,    0xff, 0xff, 0xff, 0x22,    0,       0xff,
		                         0xff, 0xff, 0xff, 0xff, 0xff, PC_USER, RETIRED, 1 };
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(3);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, user_pc);
	assert_int_equal(d.damaged_bytes, 0);
	assert_int_equal(d.off, 3 + sizeof(bytes));
}

static void it_may_be_cut_into_pieces_anywhere(void **state)
{
	static const uint8_t bytes[] = {
		PC_USER, 0x64, 1, 0, 0,       0,     0x20, 0x98,      1,       1,
		0x23,    0,    9, 9, RETIRED, STAMP, 0,    PC_KERNEL, RETIRED, STAMP
	};

	(void)state;
	for (size_t first = 0; first <= sizeof(bytes); first++)
		for (size_t second = first; second <= sizeof(bytes); second++) {
			const size_t ends[] = { first, second, sizeof(bytes) };
			struct spe_record rec[3];
			const uint8_t *p = bytes;
			size_t n = 0;

			/* The alignment, to 16, begins at 10 + 18 = 28: four bytes. */
			fresh(10);
			for (size_t i = 0; i < 3; i++)
				while (n < 3 && next(&p, bytes + ends[i], &rec[n]))
					n++;
			assert_int_equal(n, 2);
			assert_int_equal(rec[0].pc, user_pc);
			assert_int_equal(rec[0].context, 1);
			assert_int_equal(rec[1].pc, kernel_pc);
			assert_int_equal(rec[1].timestamp, stamp);
			assert_int_equal(d.damaged_bytes + d.n_cut, 0);
		}
}

static void a_byte_that_begins_no_packet_costs_its_record(void **state)
{
	static const uint8_t bytes[] = { PC_USER, 0xff, RETIRED, STAMP, PC_KERNEL, RETIRED, STAMP,
		                         PC_USER, 0x20, 0x01,    STAMP, PC_KERNEL, 1 };
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, kernel_pc);
	assert_int_equal(d.damaged_bytes, 1);
	assert_int_equal(d.n_cut, 1);
	/* An extended header of what has none: its second byte is END here, and what follows it the end of a record that has no beginning. */
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, kernel_pc);
	assert_int_equal(rec.has, SPE_PC);
	assert_int_equal(d.damaged_bytes, 2);
	assert_int_equal(d.n_cut, 2);
}

static void a_second_PC_begins_a_record_whose_first_half_is_lost(void **state)
{
	static const uint8_t bytes[] = {
		PC_USER, PC_KERNEL, RETIRED, STAMP, 0x42, 0, RETIRED, PC_USER, STAMP
	};
	const uint8_t *p = bytes, *end = bytes + sizeof(bytes);
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, kernel_pc);
	assert_int_equal(d.n_cut, 1);
	assert_true(next(&p, end, &rec));
	assert_int_equal(rec.pc, user_pc);
	assert_int_equal(rec.events, SPE_EV_RETIRED);
	assert_int_equal(d.n_cut, 2);
	assert_int_equal(d.damaged_bytes, 0);
}

static void behind_a_cut_nothing_goes_on(void **state)
{
	static const uint8_t before[] = { PC_USER, RETIRED, 0x71, 1, 2 },
	                     after[] = { PC_KERNEL, RETIRED, STAMP };
	const uint8_t *p = before;
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_false(next(&p, before + sizeof(before), &rec));
	spe_cut(&d, 4096);
	assert_int_equal(d.n_cut, 1);
	p = after;
	assert_true(next(&p, after + sizeof(after), &rec));
	assert_int_equal(rec.pc, kernel_pc);
	assert_int_equal(d.off, 4096 + sizeof(after));
	assert_int_equal(d.damaged_bytes, 0);
	/* Between two records nothing is cut. */
	spe_cut(&d, 8192);
	assert_int_equal(d.n_cut, 1);
}

static void a_record_without_a_PC_is_none(void **state)
{
	static const uint8_t bytes[] = { RETIRED, STAMP, STAMP, 1, 1, 0, 1 };
	const uint8_t *p = bytes;
	struct spe_record rec;

	(void)state;
	fresh(0);
	assert_false(next(&p, bytes + sizeof(bytes), &rec));
	assert_int_equal(d.n_cut, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_ends_with_its_timestamp),
		cmocka_unit_test(or_with_END_and_then_it_has_none),
		cmocka_unit_test(what_a_sample_does_not_need_is_stepped_over),
		cmocka_unit_test(an_alignment_goes_to_the_next_multiple),
		cmocka_unit_test(it_may_be_cut_into_pieces_anywhere),
		cmocka_unit_test(a_byte_that_begins_no_packet_costs_its_record),
		cmocka_unit_test(a_second_PC_begins_a_record_whose_first_half_is_lost),
		cmocka_unit_test(behind_a_cut_nothing_goes_on),
		cmocka_unit_test(a_record_without_a_PC_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

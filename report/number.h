/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_NUMBER_H
#define SKIDPROF_REPORT_NUMBER_H

/*
 * Numbers and names as people read them.  Names come from files of unknown
 * origin: what could steer a terminal or break an encoding is escaped.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_MAX = 64, RANGE_MAX = 2 * NUMBER_MAX + 2 };

/* "123.4M": four significant digits; "-" for NAN and infinities. */
void number_si(double x, char out[NUMBER_MAX]);

/* The same, with a "~" before it where it is roughly scaled. */
void number_scaled(double x, bool rough, char out[RANGE_MAX]);

/* "124.9M..125.1M"; up to two digits more where both ends look alike and are not.  "-" without a lower end. */
void number_range(double lo, double hi, char out[RANGE_MAX]);

/* "123.4M" of what is no whole number: "3.998", "16.00k". */
void number_mean(double x, char out[NUMBER_MAX]);

/*
 * "1.26", "1.3" or "1": with at most two decimals, of which the last stands for no less than a fifth of `half`, by which it may be off.
 * "-" where that is as much as it is itself.
 */
void number_rough(double x, double half, char out[NUMBER_MAX]);

/* "1,234,567"; "-" for NAN and infinities. */
void number_grouped(double x, char out[NUMBER_MAX]);

/*
 * "12.3%" of a fraction; "-" for NAN and infinities.  is_signed: it is a change, with a sign, and where it comes to a hundred times
 * as much or more, so many times: "x14.20k".
 */
void number_percent(double fraction, int is_signed, char out[NUMBER_MAX]);

/* "3 more functions", "1 more function" of functions.  Returns out. */
char *number_things(size_t n, const char *plural, char out[NUMBER_MAX]);

/*
 * A copy of text that is valid UTF-8 without control characters: any other
 * byte becomes "\xNN".  Cut off at size - 1 bytes.  Returns the copy's length.
 */
size_t text_safe(const char *text, char *out, size_t size);

/* The same, malloc'd and whole; NULL when out of memory. */
char *text_safe_new(const char *text);

/* A name as text_safe writes it, typed again: in place, \xNN becomes the byte where text_safe would have written it so. */
void text_unsafe(char *text);

/* Columns that a safe text takes: one a character. */
size_t text_width(const char *text);

/*
 * Cut a safe text to `width` columns by leaving out its middle ("ab...yz"),
 * in place: both ends of a C++ name matter.
 */
void text_squeeze(char *text, size_t width);

/* Leave out the first n columns of a safe text that has as many. */
void text_skip(char *text, size_t n);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_SOLVE_PACE_H
#define SKIDPROF_CORRECT_SOLVE_PACE_H

#include "correct/work.h"

/*
 * Where no instructions were counted: instructions a cycle of the whole program, of all scopes that know their own (eq. 10), lent
 * to those that don't.  Raw counts are time times that.  Nothing is set where no scope knows.
 */
void pace_set(struct work *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RULE_LINES_H
#define RULE_LINES_H

/* The errors that the checks of rules log. */
extern char rule_line[512]; /* the last */
extern int rule_lines;      /* since the last call of rule_broke */

/* A handler for ferry_log_set_handler. */
void rule_keep(void *arg, int level, const char *text);

/* Checks the log since the last call: one line with that rule and text, or for rule 0 no line. */
int rule_broke(int rule, const char *text);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule-lines.h"

#include <ferry/status.h>

#include <stdio.h>
#include <string.h>

char rule_line[512];
int rule_lines;

void rule_keep(void *arg, int level, const char *text)
{
    (void)arg;
    if (level != FERRY_LOG_ERROR)
        return;
    snprintf(rule_line, sizeof rule_line, "%s", text);
    rule_lines++;
}

int rule_broke(int rule, const char *text)
{
    char wanted[32];
    int good;

    snprintf(wanted, sizeof wanted, "rule %d: ", rule);
    good = rule ? rule_lines == 1 && strstr(rule_line, wanted) && strstr(rule_line, text)
                : rule_lines == 0;
    if (!good)
        printf("     wanted rule %d, had %d lines, the last: %s\n", rule, rule_lines, rule_line);
    rule_lines = 0;
    rule_line[0] = '\0';
    return good;
}

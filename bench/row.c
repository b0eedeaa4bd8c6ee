/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The rows and their output. */

static const char *met(const struct bench_row *r)
{
    return r->direction == BENCH_NO_GOAL ? "" : r->met ? "yes" : "NO";
}

static void print_goal(const struct bench_row *r)
{
    if (r->direction == BENCH_NO_GOAL)
        printf(" %8s", "");
    else
        printf(" %s %5.2f", r->direction == BENCH_AT_MOST ? "<=" : ">=", r->goal);
}

/* Nanoseconds in a suitable unit. */
static void print_quantity(double value, const char *unit)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    int i = 0;

    if (strcmp(unit, "ns") == 0)
        for (; i < 3 && value >= 1000; i++)
            value /= 1000;
    printf(" %6.4g %-4s", value, strcmp(unit, "ns") == 0 ? units[i] : unit);
}

static void print_row(const struct bench_row *r)
{
    if (r->reason[0]) {
        printf("%-52s %s\n", r->figure, r->reason);
        return;
    }
    printf("%-52s", r->figure);
    print_quantity(r->value, r->unit);
    print_quantity(r->reference, r->unit);
    printf(" %7.2f", r->ratio);
    print_goal(r);
    printf("%s%s\n", *met(r) ? "  " : "", met(r));
}

/* The rows that were not printed yet. */
static void print_table(struct bench *b)
{
    if (b->printed == 0)
        printf("%-52s %11s %11s %7s %8s  %s\n", "figure", "value", "reference", "ratio", "goal",
               "met");
    while (b->printed < b->count)
        print_row(&b->row[b->printed++]);
    fflush(stdout);
}

static struct bench_row *new_row(struct bench *b, const char *figure)
{
    struct bench_row *row = &b->row[b->count < BENCH_MOST_ROWS ? b->count++ : BENCH_MOST_ROWS - 1];

    memset(row, 0, sizeof(*row));
    snprintf(row->figure, sizeof(row->figure), "%s", figure);
    return row;
}

void bench_add(struct bench *b, const char *figure, const char *unit, double value,
               double reference, enum bench_goal direction, double goal)
{
    struct bench_row *row = new_row(b, figure);

    snprintf(row->unit, sizeof(row->unit), "%s", unit);
    row->value = value;
    row->reference = reference;
    row->ratio = reference > 0 ? value / reference : value;
    row->direction = direction;
    row->goal = goal;
    row->met = direction == BENCH_AT_MOST ? row->ratio <= goal : row->ratio >= goal;
    row->met = row->met && direction != BENCH_NO_GOAL;
    if (b->at_once)
        print_table(b);
}

void bench_skip(struct bench *b, const char *figure, const char *fmt, ...)
{
    struct bench_row *row = new_row(b, figure);
    va_list args;

    va_start(args, fmt);
    vsnprintf(row->reason, sizeof(row->reason), fmt, args);
    va_end(args);
    if (b->at_once)
        print_table(b);
}

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_json_goal(const struct bench_row *r)
{
    if (r->direction == BENCH_NO_GOAL)
        printf(",\"goal\":null,\"met\":null");
    else
        printf(",\"goal\":%g,\"goal_is\":\"%s\",\"met\":%s", r->goal,
               r->direction == BENCH_AT_MOST ? "at most" : "at least", r->met ? "true" : "false");
}

/* A row that was not measured has nulls and a reason; a row without a goal has two nulls. */
static void print_json(const struct bench *b)
{
    printf("{\"device\":");
    print_string(ferry_device_name(b->device));
    printf(",\"rows\":[");
    for (int i = 0; i < b->count; i++) {
        const struct bench_row *r = &b->row[i];

        printf("%s\n{\"figure\":", i ? "," : "");
        print_string(r->figure);
        if (r->reason[0]) {
            printf(",\"value\":null,\"reference\":null,\"ratio\":null,\"goal\":null,\"met\":null,"
                   "\"reason\":");
            print_string(r->reason);
        } else {
            printf(",\"unit\":\"%s\",\"value\":%.6g,\"reference\":%.6g,\"ratio\":%.4g", r->unit,
                   r->value, r->reference, r->ratio);
            print_json_goal(r);
        }
        putchar('}');
    }
    printf("]}\n");
}

void bench_print(struct bench *b, bool json)
{
    if (json)
        print_json(b);
    else if (b->printed == 0 || b->printed < b->count)
        print_table(b);
}

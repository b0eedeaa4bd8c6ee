/* SPDX-License-Identifier: BSD-2-Clause */
#include "ferry-test.h"

#include "core/validate/validate.h"

#include <ferry/profile_plugin.h>
#include <ferry/status.h>

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The checks of "ferry.profile/1": a plugin commits one fault, and one line of the log has the
 * number of the rule.
 */

static enum fault {
    NO_FAULT,
    NO_ENTRY,
    FREQUENCY_0,
    FREQUENCY_CHANGES,
    SECTION_NULL,
    STORES_AND_FAILS,
    READ_TWO,
    READ_CHANGES,
    READ_TAKES_BACK,
    ENDS_FIRST,
    EMPTY_WITH_TIMES,
    LEAVES_ONE, /* of ferry's side, as are the following */
    DESTROYS_TWICE
} fault;

static char line[512];
static int lines, reads;

static void keep_line(void *arg, int level, const char *text)
{
    (void)arg;
    if (level != FERRY_LOG_ERROR)
        return;
    snprintf(line, sizeof line, "%s", text);
    lines++;
}

/* ---- the plugin ---- */

static int plain_clock(void *dev, ferry_profile_clock *out)
{
    (void)dev;
    out->frequency = fault == FREQUENCY_0 ? 0 : 1000;
    if (fault == FREQUENCY_CHANGES)
        out->frequency = 1000 + (uint64_t)reads++;
    out->resolution = 1;
    return 0;
}

static int change(void *dev, void *queue)
{
    (void)dev;
    (void)queue;
    return 0;
}

static int begin(void *dev, void *queue, void **out_section)
{
    (void)dev;
    (void)queue;
    if (fault != SECTION_NULL)
        *out_section = &lines;
    return fault == STORES_AND_FAILS ? FERRY_ENOMEM : 0;
}

static int end(void *dev, void *queue, void *section)
{
    (void)dev;
    (void)queue;
    (void)section;
    return 0;
}

static int read_times(void *dev, void *section, ferry_profile_times *out)
{
    (void)dev;
    (void)section;
    out->begin = fault == ENDS_FIRST ? 9 : 5;
    out->end = 7 + (fault == READ_CHANGES ? (uint64_t)reads : 0);
    out->flags = fault == EMPTY_WITH_TIMES ? FERRY_PROFILE_EMPTY : 0;
    reads++;
    if (fault == READ_TWO)
        return 2;
    return fault == READ_TAKES_BACK && reads > 1 ? 0 : 1;
}

static void destroy(void *dev, void *section)
{
    (void)dev;
    (void)section;
}

static const ferry_profile_table whole = {
    .struct_size = sizeof whole,
    .clock = plain_clock,
    .start = change,
    .stop = change,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
static const ferry_profile_table lacking = { .struct_size = sizeof lacking, .clock = plain_clock };

static int extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    (void)name;
    *out_table = fault == NO_ENTRY ? &lacking : &whole;
    return 0;
}

static int open_device(void *plugin, uint32_t index, void **out_dev)
{
    (void)plugin;
    (void)index;
    *out_dev = &reads;
    return 0;
}

static int describe(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin;
    (void)index;
    (void)dev;
    (void)out;
    return 0;
}

static void close_device(void *dev)
{
    (void)dev;
}

/* ---- the cases ---- */

static void use(ferry_plugin_ops *ops)
{
    ferry_profile_clock clock = { .struct_size = sizeof clock };
    ferry_profile_times times = { .struct_size = sizeof times };
    const ferry_profile_table *t;
    void *dev = NULL, *section = NULL;
    const void *table = NULL;

    CU_ASSERT_EQUAL_FATAL(ops->device_open(ops->plugin, 0, &dev), 0);
    CU_ASSERT_EQUAL_FATAL(ops->extension(dev, FERRY_PROFILE_EXTENSION, &table), 0);
    t = table;
    t->clock(dev, &clock);
    t->clock(dev, &clock);
    if (t->begin && !t->start(dev, NULL) && !t->begin(dev, NULL, &section)) {
        CU_ASSERT_EQUAL(t->end(dev, NULL, section), 0);
        t->read(dev, section, &times);
        t->read(dev, section, &times);
        if (fault != LEAVES_ONE)
            t->destroy(dev, section);
        if (fault == DESTROYS_TWICE)
            t->destroy(dev, section);
        CU_ASSERT_EQUAL(t->stop(dev, NULL), 0);
    }
    ops->device_close(dev);
}

static void each_fault_prints_one_line_with_its_rule(void)
{
    static const int rules[] = {
        [NO_FAULT] = 0,           [NO_ENTRY] = 69,         [FREQUENCY_0] = 69,
        [FREQUENCY_CHANGES] = 69, [SECTION_NULL] = 70,     [STORES_AND_FAILS] = 12,
        [READ_TWO] = 70,          [READ_CHANGES] = 70,     [READ_TAKES_BACK] = 70,
        [ENDS_FIRST] = 71,        [EMPTY_WITH_TIMES] = 71, [LEAVES_ONE] = 70,
        [DESTROYS_TWICE] = 70,
    };
    static ferry_plugin_ops ops = { .struct_size = sizeof ops,
                                    .device_open = open_device,
                                    .device_close = close_device,
                                    .properties = describe,
                                    .extension = extension };
    char wanted[32];

    CU_ASSERT_EQUAL_FATAL(ferry__validate_wrap("fake", false, &ops), 0);
    ferry_log_set_handler(keep_line, NULL);
    for (fault = NO_FAULT; fault <= DESTROYS_TWICE; fault++) {
        lines = reads = 0;
        line[0] = '\0';
        use(&ops);
        snprintf(wanted, sizeof wanted, "rule %d: ", rules[fault]);
        if (lines != (fault != NO_FAULT) || (fault && !strstr(line, wanted)))
            printf("     fault %d: %d lines, the last: %s\n", (int)fault, lines, line);
        CU_ASSERT(lines == (fault != NO_FAULT) && (!fault || strstr(line, wanted)));
    }
    ferry_log_set_handler(NULL, NULL);
}

static const ferry_test_case cases[] = { FERRY_TEST(each_fault_prints_one_line_with_its_rule) };

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "profile rules", cases, FERRY_TEST_COUNT(cases));
}

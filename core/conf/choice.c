/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/conf/choice.h"
#include "core/base/text.h"

#include <stdio.h>
#include <string.h>

#define WHY_SIZE 128

static size_t skip_blanks(const char *text, size_t length)
{
    size_t n = 0;

    while (n < length && (text[n] == ' ' || text[n] == '\t'))
        n++;
    return n;
}

static size_t drop_blanks(const char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return length;
}

const char *ferry__choice_parse_item(const char *text, size_t length,
                                     struct ferry__choice_item *out, char why[WHY_SIZE])
{
    const char *colon = memchr(text, ':', length);
    size_t name = colon ? (size_t)(colon - text) : length;
    int shown = length > 40 ? 40 : (int)length;
    uint64_t index = FERRY__ANY_INDEX;

    if (length == 0) {
        snprintf(why, WHY_SIZE, "a name is missing");
        return why;
    }
    if (!ferry__text_is_name(text, name)) {
        snprintf(why, WHY_SIZE, "\"%.*s\" does not name a backend (as in cuda or cuda:1)", shown,
                 text);
        return why;
    }
    if (colon && !ferry__text_number(colon + 1, length - name - 1, UINT32_MAX - 1, &index)) {
        snprintf(why, WHY_SIZE, "\"%.*s\": a device's number follows the colon", shown, text);
        return why;
    }
    memcpy(out->name, text, name);
    out->name[name] = '\0';
    out->index = (uint32_t)index;
    return NULL;
}

static const char *add_item(struct ferry__choice *choice, const char *text, size_t length,
                            char why[WHY_SIZE])
{
    const char *error;

    if (choice->count == FERRY__CHOICE_MAX) {
        snprintf(why, WHY_SIZE, "more than %d names", FERRY__CHOICE_MAX);
        return why;
    }
    error = ferry__choice_parse_item(text, length, &choice->items[choice->count], why);
    if (!error && choice->all_but && choice->items[choice->count].index != FERRY__ANY_INDEX) {
        snprintf(why, WHY_SIZE, "^ excludes whole backends, not single devices");
        error = why;
    }
    choice->count++;
    return error;
}

const char *ferry__choice_parse(const char *text, struct ferry__choice *out, char why[WHY_SIZE])
{
    const char *error = NULL;
    const char *end = NULL;

    *out = (struct ferry__choice){ 0 };
    text += skip_blanks(text, strlen(text));
    if (*text == '^') {
        out->all_but = true;
        text++;
    }
    do {
        size_t length = strcspn(text, ",");

        end = text + length;
        text += skip_blanks(text, length);
        error = add_item(out, text, drop_blanks(text, (size_t)(end - text)), why);
        text = end + 1;
    } while (!error && *end == ',');
    return error;
}

bool ferry__choice_allows(const struct ferry__choice *choice, const char *name)
{
    for (size_t i = 0; i < choice->count; i++)
        if (strcmp(choice->items[i].name, name) == 0)
            return !choice->all_but;
    return choice->all_but;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/comments.h"

#include <stdlib.h>
#include <string.h>

/* ---- collecting ----------------------------------------------------------------------------- */

static bool reserve(struct ferry__comments *c)
{
    size_t capacity = c->capacity ? 2 * c->capacity : 64;
    struct ferry__comment *more;

    if (c->count < c->capacity)
        return true;
    more = realloc(c->at, capacity * sizeof(*more));
    if (!more)
        return false;
    c->at = more;
    c->capacity = capacity;
    return true;
}

/* The length of a comment: it ends before a NUL and before spaces at the end of its line. */
static size_t length(const char *text, size_t size)
{
    const char *nul = memchr(text, '\0', size);

    if (nul)
        size = (size_t)(nul - text);
    while (size > 0 && strchr(" \t\r\v\f", text[size - 1]))
        size--;
    return size;
}

void ferry__comments_add(struct ferry__comments *c, const char *text, size_t size, bool alone)
{
    struct ferry__comment made = { .number = (uint32_t)c->count, .alone = alone };

    if (c->count == FERRY__COMMENTS)
        c->too_many = true;
    if (c->too_many || c->no_memory)
        return;
    made.text = ferry__proto_keep(c->document, text, length(text, size));
    if (made.text && reserve(c))
        c->at[c->count++] = made;
    else
        c->no_memory = true;
}

void ferry__comments_place(struct ferry__comments *c, bool all, uint32_t line, uint32_t column,
                           enum ferry__comment_place place)
{
    while (c && c->placed < c->count && (all || !c->at[c->placed].alone)) {
        struct ferry__comment *comment = &c->at[c->placed++];

        comment->line = line;
        comment->column = column;
        comment->place = place;
    }
}

/* ---- finding -------------------------------------------------------------------------------- */

static int compare_place(const struct ferry__comment *a, const struct ferry__comment *b)
{
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return (int)a->place - (int)b->place;
}

static int compare(const void *left, const void *right)
{
    const struct ferry__comment *a = left, *b = right;
    int c = compare_place(a, b);

    return c ? c : a->number < b->number ? -1 : 1;
}

int ferry__comments_finish(struct ferry__comments *c)
{
    size_t size = c->count * sizeof(*c->at);
    struct ferry__comment *kept = NULL;
    int err = FERRY_OK;

    if (c->too_many)
        err = ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: more than %u comments",
                              c->document->file, FERRY__COMMENTS);
    else if (c->no_memory)
        err = ferry__proto_no_memory(c->document);
    if (!err && c->count > 0) {
        qsort(c->at, c->count, sizeof(*c->at), compare);
        kept = ferry__mem_alloc(&c->document->arena, size);
        err = kept ? FERRY_OK : ferry__proto_no_memory(c->document);
    }
    if (kept) {
        memcpy(kept, c->at, size);
        c->document->comments = kept;
        c->document->comment_count = c->count;
    }
    free(c->at);
    return err;
}

const struct ferry__comment *ferry__comments_of(const struct ferry__proto_document *document,
                                                uint32_t line, uint32_t column,
                                                enum ferry__comment_place place, size_t *out_count)
{
    struct ferry__comment key = { .line = line, .column = column, .place = place };
    size_t low = 0, high = document ? document->comment_count : 0, n = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_place(&document->comments[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (document && low + n < document->comment_count &&
           compare_place(&document->comments[low + n], &key) == 0)
        n++;
    *out_count = n;
    return n > 0 ? &document->comments[low] : NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "torch_walk.h"

#include "torch_tensor.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/* The nesting limit of dictionaries and lists. */
#define MOST_DEPTH 64

/* ---- the walk ------------------------------------------------------------------------------- */

/* The position of a value in the nesting, a linked list up to the root. */
struct nesting {
    const struct ferry__pickle *of;
    const struct nesting *in;
    int depth;
};

static int walk(struct ferry__torch *a, const struct ferry__pickle *p, const char *path,
                const struct nesting *in);

/*
 * Walks path.key. The names of a module's own dictionaries are not part of its parameters' names.
 */
static int walk_member(struct ferry__torch *a, const struct ferry__pickle *value, const char *path,
                       const char *key, const struct nesting *in)
{
    static const char *const own[] = { "_parameters", "_buffers", "_modules" };
    size_t size = strlen(path) + strlen(key) + 2;
    char *longer;

    for (int i = 0; i < 3; i++)
        if (strcmp(key, own[i]) == 0)
            return walk(a, value, path, in);
    longer = ferry__io_alloc(a->io, size);
    if (!longer)
        return ferry_last_error_code();
    snprintf(longer, size, "%s%s%s", path, *path ? "." : "", key);
    return walk(a, value, longer, in);
}

static int walk_dict(struct ferry__torch *a, const struct ferry__pickle *dict, const char *path,
                     const struct nesting *in)
{
    int64_t i = 0;
    int err = FERRY_OK;

    for (const struct ferry__pickle_link *l = dict->first; l && l->next && !err;
         l = l->next->next) {
        char number[24];
        const char *key = l->value->text;

        snprintf(number, sizeof(number), l->value->kind == FERRY__PICKLE_INT ? "%lld" : "(%lld)",
                 (long long)(l->value->kind == FERRY__PICKLE_INT ? l->value->number : i));
        i++;
        if (l->value->kind != FERRY__PICKLE_STRING)
            key = number;
        err = walk_member(a, l->next->value, path, key, in);
    }
    return err;
}

static int walk_list(struct ferry__torch *a, const struct ferry__pickle *list, const char *path,
                     const struct nesting *in)
{
    int64_t i = 0;
    int err = FERRY_OK;

    for (const struct ferry__pickle_link *l = list->first; l && !err; l = l->next) {
        char number[24];

        if (l->value->kind < FERRY__PICKLE_LIST && ++i) /* a list of numbers is not metadata */
            continue;
        snprintf(number, sizeof(number), "%lld", (long long)i++);
        err = walk_member(a, l->value, path, number, in);
    }
    return err;
}

/*
 * Whether the call makes another kind of tensor: sparse, quantized, meta, a subclass, or a NumPy
 * array.
 */
static bool is_other_tensor(const char *callee)
{
    return strncmp(callee, "torch.nn.parameter Uninitialized", 32) == 0 ||
           (strncmp(callee, "torch", 5) == 0 && strstr(callee, " _rebuild_") &&
            (strstr(callee, "tensor") || strstr(callee, "subclass"))) ||
           (strncmp(callee, "numpy", 5) == 0 && strstr(callee, " _reconstruct"));
}

/*
 * Walks the arguments of a call, its state and the members added later: each may contain tensors.
 */
static int walk_parts(struct ferry__torch *a, const struct ferry__pickle *call, const char *path,
                      const struct nesting *in)
{
    int64_t i = 0;
    int err = call->state ? walk(a, call->state, path, in) : FERRY_OK;

    if (!err && call->items)
        err = walk(a, call->items, path, in);
    for (const struct ferry__pickle_link *l = call->first; l && !err; l = l->next) {
        char number[24];

        snprintf(number, sizeof(number), "%lld", (long long)i++);
        if (l->value->kind >= FERRY__PICKLE_LIST)
            err = walk_member(a, l->value, path, number, in);
    }
    return err;
}

/*
 * Walks _rebuild_from_type_v2(function, class, arguments, attributes): a call of the function,
 * followed by the attributes.
 */
static int walk_typed(struct ferry__torch *a, const struct ferry__pickle *call, const char *path,
                      const struct nesting *in)
{
    const struct ferry__pickle *callee = ferry__pickle_member(call, 0),
                               *arguments = ferry__pickle_member(call, 2),
                               *state = ferry__pickle_member(call, 3);
    struct ferry__pickle inner = { .kind = FERRY__PICKLE_CALL };
    int err;

    if (!callee || !arguments || arguments->kind != FERRY__PICKLE_LIST)
        return ferry__torch_add_unreadable(a, path, call->callee->text,
                                           "ferry does not know this kind of tensor");
    inner.callee = (struct ferry__pickle *)callee;
    inner.first = arguments->first;
    inner.last = arguments->last;
    inner.number = arguments->number;
    err = walk(a, &inner, path, in);
    return !err && state ? walk(a, state, path, in) : err;
}

static int walk_call(struct ferry__torch *a, const struct ferry__pickle *call, const char *path,
                     const struct nesting *in)
{
    const char *callee = call->callee->kind == FERRY__PICKLE_GLOBAL ? call->callee->text : "";
    const struct ferry__pickle *inner = ferry__pickle_member(call, 0),
                               *state = ferry__pickle_member(call, 3);
    int err;

    if (strncmp(callee, "torch._utils _rebuild_tensor", 28) == 0)
        return ferry__torch_add_tensor(a, path, call);
    if (strncmp(callee, "torch._utils _rebuild_parameter", 31) == 0 && inner) {
        err = walk(a, inner, path, in);
        return !err && state ? walk(a, state, path, in) : err;
    }
    if (strncmp(callee, "torch._tensor _rebuild_from_type", 32) == 0)
        return walk_typed(a, call, path, in);
    if (is_other_tensor(callee))
        return ferry__torch_add_unreadable(a, path, callee,
                                           "ferry does not read this kind of tensor");
    return walk_parts(a, call, path, in);
}

/* Prints a number with a decimal point in every locale. */
static void put_real(double value, char *out, size_t size)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = c ? uselocale(c) : c;

    snprintf(out, size, "%.17g", value);
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

/* Adds a number or a string beside the tensors to the metadata of the file. */
static int note(struct ferry__torch *a, const struct ferry__pickle *p, const char *path)
{
    char number[40];
    char *value;

    if (!*path)
        return FERRY_OK;
    if (p->kind == FERRY__PICKLE_FLOAT)
        put_real(p->real, number, sizeof(number));
    else if (p->kind == FERRY__PICKLE_BOOL)
        snprintf(number, sizeof(number), "%s", p->number ? "true" : "false");
    else
        snprintf(number, sizeof(number), "%lld", (long long)p->number);
    if (p->kind == FERRY__PICKLE_STRING)
        return ferry__io_add_metadata(a->io, path, p->text);
    value = ferry__io_string(a->io, number, strlen(number));
    return value ? ferry__io_add_metadata(a->io, path, value) : ferry_last_error_code();
}

static bool is_own_ancestor(const struct ferry__pickle *p, const struct nesting *in)
{
    while (in && in->of != p)
        in = in->in;
    return in != NULL;
}

/*
 * Walks a value. The memo makes cycles possible, which are walked once, and trees that are
 * exponentially larger than their file, which the limit of visits ends.
 */
static int walk(struct ferry__torch *a, const struct ferry__pickle *p, const char *path,
                const struct nesting *in)
{
    const struct nesting inner = { p, in, in ? in->depth + 1 : 0 };

    if (a->visits == 0)
        return ferry__torch_malformed(a, *path ? path : "data.pkl",
                                      "the same values come too often");
    a->visits--;
    if (is_own_ancestor(p, in))
        return FERRY_OK;
    if (inner.depth > MOST_DEPTH)
        return ferry__torch_add_unreadable(a, path, "?", "it is nested too deep");
    switch (p->kind) {
    case FERRY__PICKLE_DICT:
        return walk_dict(a, p, path, &inner);
    case FERRY__PICKLE_LIST:
        return walk_list(a, p, path, &inner);
    case FERRY__PICKLE_CALL:
        return walk_call(a, p, path, &inner);
    case FERRY__PICKLE_BOOL:
    case FERRY__PICKLE_INT:
    case FERRY__PICKLE_FLOAT:
    case FERRY__PICKLE_STRING:
        return note(a, p, path);
    case FERRY__PICKLE_STORAGE:
        return ferry__torch_add_unreadable(a, path, "storage",
                                           "it is a storage to which no tensor gives a shape");
    default:
        return FERRY_OK;
    }
}

int ferry__torch_walk(struct ferry__torch *a, const struct ferry__pickle *root)
{
    return walk(a, root, "", NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch's archive: a zip of a pickle, which says what the tensors are called and how they lie in
 * their storages, and of the storages, NAME/data/0, 1, …, stored as they are.
 */
#define _POSIX_C_SOURCE 200809L
#include "pickle.h"
#include "zip.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How deep dictionaries and lists may lie in one another. */
#define MOST_DEPTH 64

struct storage {
    const unsigned char *bytes;
    uint64_t size;
    bool deflated;
};

struct archive {
    struct ferry_io *io;
    struct ferry__names names; /* of the members */
    struct storage *members;
    const char *prefix; /* "archive/", of the pickle's name */
    struct storage pickle;
    bool swap;
    uint64_t visits; /* of values, left */
};

/* What a tensor remembers: its strides. Those of PLAIN values are not looked at. */
struct strided {
    const unsigned char *bytes; /* of element 0, 0, … */
    int64_t stride[FERRY_MAX_AXES];
};

static int malformed(const struct archive *a, const char *name, const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: %s", a->io->file.path, name, what);
}

/* ---- the archive ---------------------------------------------------------------------------- */

/* A pickle of that name makes a zip PyTorch's; other zips are NumPy's. */
static bool is_pickle(const unsigned char *name, size_t size)
{
    return size >= 8 && memcmp(name + size - 8, "data.pkl", 8) == 0 &&
           (size == 8 || name[size - 9] == '/');
}

/* Sets no message of its own that would stay. */
static ferry_io_format probe(const struct ferry__io_file *file)
{
    const unsigned char *at = file->bytes, *end = file->bytes + file->size;

    if (file->size < 4 || memcmp(at, "PK\3\4", 4) != 0)
        return FERRY_IO_UNKNOWN;
    if (file->size > 1 << 20) /* the table at the end has the name, too */
        at = end - (1 << 20);
    for (; (at = memchr(at, 'd', (size_t)(end - at))) && end - at >= 8; at++)
        if (memcmp(at, "data.pkl", 8) == 0 && (at == file->bytes || at[-1] == '/'))
            return FERRY_IO_PYTORCH;
    return FERRY_IO_UNKNOWN;
}

static int add_member(struct archive *a, const struct ferry__zip_member *m, int64_t i)
{
    char *name = ferry__io_string(a->io, m->name, m->name_size);

    if (!name)
        return ferry_last_error_code();
    a->members[i] = (struct storage){ m->bytes, m->stored, m->method != FERRY__ZIP_STORED };
    if (ferry__names_add(&a->names, name, i) == -2)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", a->io->file.path);
    if (is_pickle(m->name, m->name_size) && !a->prefix) {
        a->pickle = a->members[i];
        a->prefix = ferry__io_string(a->io, m->name, m->name_size - 8);
        return a->prefix ? FERRY_OK : ferry_last_error_code();
    }
    return FERRY_OK;
}

static int list_members(struct archive *a)
{
    struct ferry__zip_member member;
    struct ferry__zip zip;
    uint64_t most;
    int64_t n = 0;
    int got = ferry__zip_open(&a->io->file, &zip);

    if (got)
        return got;
    most = (uint64_t)(zip.end - zip.at) / 46; /* what a member takes of the table at least */
    a->members = ferry__io_alloc(a->io, (size_t)most * sizeof(*a->members));
    if (!a->members)
        return ferry_last_error_code();
    while (!got && (got = ferry__zip_next(&zip, &member)) > 0)
        got = member.unreadable    ? ferry__zip_refuse(&zip, &member)
              : (uint64_t)n < most ? add_member(a, &member, n++)
                                   : FERRY_EFORMAT;
    return got;
}

static const struct storage *member_of(const struct archive *a, const char *folder, const char *key)
{
    char name[512];
    int64_t found;

    snprintf(name, sizeof(name), "%s%s%s", a->prefix, folder, key);
    found = ferry__names_find(&a->names, name);
    return found >= 0 ? &a->members[found] : NULL;
}

/* ---- tensors -------------------------------------------------------------------------------- */

struct type {
    const char *name; /* as the tables say: of a storage's class, or of a dtype */
    const char *dtype_name;
    ferry_dtype dtype;
    enum ferry__storage storage;
    size_t size;
};

static const struct type types[] = {
    { "FloatStorage", "float32", FERRY_F32, FERRY__STORED_AS_DTYPE, 4 },
    { "DoubleStorage", "float64", FERRY_F64, FERRY__STORED_AS_DTYPE, 8 },
    { "HalfStorage", "float16", FERRY_F16, FERRY__STORED_AS_DTYPE, 2 },
    { "BFloat16Storage", "bfloat16", FERRY_BF16, FERRY__STORED_AS_DTYPE, 2 },
    { "CharStorage", "int8", FERRY_I8, FERRY__STORED_AS_DTYPE, 1 },
    { "ByteStorage", "uint8", FERRY_U8, FERRY__STORED_AS_DTYPE, 1 },
    { "IntStorage", "int32", FERRY_I32, FERRY__STORED_AS_DTYPE, 4 },
    { "LongStorage", "int64", FERRY_I64, FERRY__STORED_AS_DTYPE, 8 },
    { "ShortStorage", "int16", FERRY_I32, FERRY__STORED_I16, 2 },
    { "BoolStorage", "bool", FERRY_U8, FERRY__STORED_BOOL, 1 },
    { "-", "uint16", FERRY_U32, FERRY__STORED_U16, 2 },
    { "-", "uint32", FERRY_U32, FERRY__STORED_AS_DTYPE, 4 },
    { "-", "uint64", FERRY_I64, FERRY__STORED_U64, 8 },
    { "-", "float8_e4m3fn", FERRY_F16, FERRY__STORED_F8_E4M3, 1 },
    { "-", "float8_e5m2", FERRY_F16, FERRY__STORED_F8_E5M2, 1 },
    { "ComplexFloatStorage", "complex64", FERRY_U8, FERRY__STORED_OTHERWISE, 8 },
    { "ComplexDoubleStorage", "complex128", FERRY_U8, FERRY__STORED_OTHERWISE, 16 },
};

/* "torch FloatStorage", "torch float8_e5m2"; NULL for a name of another kind. */
static const struct type *type_of(const struct ferry__pickle *global)
{
    const char *name;

    if (!global || global->kind != FERRY__PICKLE_GLOBAL || !(name = strchr(global->text, ' ')))
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name + 1) == 0 || strcmp(types[i].dtype_name, name + 1) == 0)
            return &types[i];
    return NULL;
}

struct tensor {
    const struct type *type;
    const struct storage *at;
    int64_t offset; /* elements */
    int naxes;
    int64_t dims[FERRY_MAX_AXES], strides[FERRY_MAX_AXES];
    int64_t count;
};

static bool is_integer(const struct ferry__pickle *p)
{
    return p && p->kind == FERRY__PICKLE_INT;
}

/* A tuple of numbers from 0 on. */
static int take_numbers(const struct ferry__pickle *list, int64_t *out, int *out_n)
{
    int n = 0;

    if (!list || list->kind != FERRY__PICKLE_LIST || list->number > FERRY_MAX_AXES)
        return -1;
    for (const struct ferry__pickle_link *l = list->first; l; l = l->next) {
        if (!is_integer(l->value) || l->value->number < 0)
            return -1;
        out[n++] = l->value->number;
    }
    *out_n = n;
    return 0;
}

/* ('storage', class, key, place, elements) */
static int take_storage(const struct archive *a, const char *name, const struct ferry__pickle *p,
                        struct tensor *t)
{
    const struct ferry__pickle *class = ferry__pickle_member(p, 1),
                               *key = ferry__pickle_member(p, 2);
    const struct type *type = type_of(class);

    if (!class || class->kind != FERRY__PICKLE_GLOBAL || !key || key->kind != FERRY__PICKLE_STRING)
        return malformed(a, name, "its storage is none of PyTorch's");
    t->at = member_of(a, "data/", key->text);
    if (!t->at)
        return malformed(a, name, "its storage is not in the archive");
    t->type = type ? type : t->type; /* an untyped one: the tensor says */
    if (!t->type)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: a storage of %.100s",
                               a->io->file.path, name, class->text);
    return FERRY_OK;
}

/* Every element lies inside the storage, and they are no more than a file of this size may hold. */
static int check_tensor(const struct archive *a, const char *name, struct tensor *t)
{
    uint64_t last = (uint64_t)t->offset, room = t->at->size / t->type->size, bytes;

    t->count = ferry__io_count(t->naxes, t->dims, t->type->size);
    if (t->count < 0)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "%s: %.200s: the dims multiply to more than 2^63 bytes",
                               a->io->file.path, name);
    for (int i = 0; i < t->naxes && t->count > 0; i++) {
        if (t->dims[i] > 1 && (uint64_t)t->strides[i] > (room - 1) / (uint64_t)(t->dims[i] - 1))
            return malformed(a, name, "its strides lead out of its storage");
        last += (uint64_t)(t->dims[i] - 1) * (uint64_t)t->strides[i];
        if (last >= room)
            return malformed(a, name, "its strides lead out of its storage");
    }
    if (t->count > 0 && last >= room)
        return malformed(a, name, "it begins behind its storage");
    bytes = (uint64_t)t->count * t->type->size;
    if (bytes > 64u << 20 && (bytes - (64u << 20)) / 1024 > a->io->file.size)
        return malformed(a, name, "it repeats a few values more often than a file of its size may");
    return FERRY_OK;
}

/* _rebuild_tensor_v2(storage, offset, size, strides, …); v3 has the dtype at the end. */
static int take_tensor(const struct archive *a, const char *name, const struct ferry__pickle *call,
                       struct tensor *t)
{
    const struct ferry__pickle *storage = ferry__pickle_member(call, 0),
                               *offset = ferry__pickle_member(call, 1);
    int axes = 0, err;

    if (strstr(call->callee->text, "_rebuild_tensor_v3"))
        t->type = type_of(ferry__pickle_member(call, 6));
    if (!storage || storage->kind != FERRY__PICKLE_STORAGE || !is_integer(offset) ||
        offset->number < 0 || take_numbers(ferry__pickle_member(call, 2), t->dims, &t->naxes) ||
        take_numbers(ferry__pickle_member(call, 3), t->strides, &axes) || axes != t->naxes)
        return malformed(a, name, "is no tensor, though it is made as one");
    t->offset = offset->number;
    err = take_storage(a, name, storage, t);
    return err ? err : check_tensor(a, name, t);
}

static bool is_contiguous(const struct tensor *t)
{
    int64_t step = 1;

    for (int i = t->naxes - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->dims[i];
    }
    return true;
}

static int add_tensor(struct archive *a, const char *path, const struct tensor *t)
{
    struct ferry__io_name name = { .name = path };
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN,
                                    .dtype = t->type->dtype,
                                    .storage = t->type->storage,
                                    .bytes = t->at->bytes + (size_t)t->offset * t->type->size,
                                    .size = (uint64_t)t->count * t->type->size,
                                    .swap = a->swap && t->type->size > 1 };
    struct strided *own = ferry__io_alloc(a->io, sizeof(*own));
    struct ferry__io_array *array;
    int err = own ? ferry__io_add(a->io, &name, t->type->dtype, t->naxes, t->dims, &array)
                  : ferry_last_error_code();

    if (err)
        return err;
    own->bytes = values.bytes;
    memcpy(own->stride, t->strides, sizeof(own->stride));
    array->own = own;
    if (t->count > 0 && !is_contiguous(t))
        values.encoding = FERRY__VALUES_OWN;
    if (t->count == 0)
        values.bytes = t->at->bytes;
    ferry__io_set_data(a->io, array, &values);
    if (t->at->deflated || t->type->storage == FERRY__STORED_OTHERWISE) {
        array->data.storage = FERRY__STORED_OTHERWISE;
        array->entry.dtype = FERRY_U8;
        return ferry__io_mark(a->io, array, t->type->dtype_name,
                              t->at->deflated
                                  ? "its storage is deflated, as PyTorch never writes it"
                                  : "ferry has no such dtype");
    }
    return FERRY_OK;
}

/* ---- the walk ------------------------------------------------------------------------------- */

static int walk(struct archive *a, const struct ferry__pickle *p, const char *path, int depth);

/* path.key; a module's own dictionaries are not part of what PyTorch calls its parameters. */
static int walk_member(struct archive *a, const struct ferry__pickle *value, const char *path,
                       const char *key, int depth)
{
    static const char *const own[] = { "_parameters", "_buffers", "_modules" };
    size_t size = strlen(path) + strlen(key) + 2;
    char *longer;

    for (int i = 0; i < 3; i++)
        if (strcmp(key, own[i]) == 0)
            return walk(a, value, path, depth + 1);
    longer = ferry__io_alloc(a->io, size);
    if (!longer)
        return ferry_last_error_code();
    snprintf(longer, size, "%s%s%s", path, *path ? "." : "", key);
    return walk(a, value, longer, depth + 1);
}

static int walk_dict(struct archive *a, const struct ferry__pickle *dict, const char *path,
                     int depth)
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
        err = walk_member(a, l->next->value, path, key, depth);
    }
    return err;
}

static int walk_list(struct archive *a, const struct ferry__pickle *list, const char *path,
                     int depth)
{
    int64_t i = 0;
    int err = FERRY_OK;

    for (const struct ferry__pickle_link *l = list->first; l && !err; l = l->next) {
        char number[24];

        if (l->value->kind < FERRY__PICKLE_LIST && ++i) /* lists of numbers are no metadata */
            continue;
        snprintf(number, sizeof(number), "%lld", (long long)i++);
        err = walk_member(a, l->value, path, number, depth);
    }
    return err;
}

/* What ferry has no values of is listed all the same, of no elements. */
static int add_unreadable(struct archive *a, const char *path, const char *what, const char *why)
{
    const char *name = *path ? path : a->io->file.stem, *space = strrchr(what, ' ');
    static const int64_t nothing[1] = { 0 };
    struct ferry__io_name named = { .name = name };
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN,
                                    .dtype = FERRY_U8,
                                    .storage = FERRY__STORED_OTHERWISE,
                                    .bytes = a->io->file.bytes };
    struct ferry__io_array *array;
    int err = ferry__io_add(a->io, &named, FERRY_U8, 1, nothing, &array);

    if (err)
        return err;
    ferry__io_set_data(a->io, array, &values);
    return ferry__io_mark(a->io, array, space ? space + 1 : what, why);
}

/* Sparse, quantized, on no device, a subclass's own; NumPy's arrays. */
static bool is_other_tensor(const char *callee)
{
    return strncmp(callee, "torch.nn.parameter Uninitialized", 32) == 0 ||
           (strncmp(callee, "torch", 5) == 0 && strstr(callee, " _rebuild_") &&
            (strstr(callee, "tensor") || strstr(callee, "subclass"))) ||
           (strncmp(callee, "numpy", 5) == 0 && strstr(callee, " _reconstruct"));
}

/* Of what is called, what was given and what was then put into it: any of them may have tensors. */
static int walk_parts(struct archive *a, const struct ferry__pickle *call, const char *path,
                      int depth)
{
    int64_t i = 0;
    int err = call->state ? walk(a, call->state, path, depth + 1) : FERRY_OK;

    if (!err && call->items)
        err = walk(a, call->items, path, depth + 1);
    for (const struct ferry__pickle_link *l = call->first; l && !err; l = l->next) {
        char number[24];

        snprintf(number, sizeof(number), "%lld", (long long)i++);
        if (l->value->kind >= FERRY__PICKLE_LIST)
            err = walk_member(a, l->value, path, number, depth);
    }
    return err;
}

/* _rebuild_from_type_v2(function, class, arguments, attributes): a call of the function, and the attributes. */
static int walk_typed(struct archive *a, const struct ferry__pickle *call, const char *path,
                      int depth)
{
    const struct ferry__pickle *callee = ferry__pickle_member(call, 0),
                               *arguments = ferry__pickle_member(call, 2),
                               *state = ferry__pickle_member(call, 3);
    struct ferry__pickle inner = { .kind = FERRY__PICKLE_CALL };
    int err;

    if (!callee || !arguments || arguments->kind != FERRY__PICKLE_LIST)
        return add_unreadable(a, path, call->callee->text, "ferry does not know such a tensor");
    inner.callee = (struct ferry__pickle *)callee;
    inner.first = arguments->first;
    inner.last = arguments->last;
    inner.number = arguments->number;
    err = walk(a, &inner, path, depth + 1);
    return !err && state ? walk(a, state, path, depth + 1) : err;
}

static int walk_call(struct archive *a, const struct ferry__pickle *call, const char *path,
                     int depth)
{
    const char *callee = call->callee->kind == FERRY__PICKLE_GLOBAL ? call->callee->text : "";
    const struct ferry__pickle *inner = ferry__pickle_member(call, 0),
                               *state = ferry__pickle_member(call, 3);
    struct tensor t = { .type = NULL };
    int err;

    if (strncmp(callee, "torch._utils _rebuild_tensor", 28) == 0) {
        err = take_tensor(a, *path ? path : a->io->file.stem, call, &t);
        return err ? err : add_tensor(a, *path ? path : a->io->file.stem, &t);
    }
    if (strncmp(callee, "torch._utils _rebuild_parameter", 31) == 0 && inner) {
        err = walk(a, inner, path, depth + 1);
        return !err && state ? walk(a, state, path, depth + 1) : err;
    }
    if (strncmp(callee, "torch._tensor _rebuild_from_type", 32) == 0)
        return walk_typed(a, call, path, depth);
    if (is_other_tensor(callee))
        return add_unreadable(a, path, callee, "ferry does not read such a tensor");
    return walk_parts(a, call, path, depth);
}

/* With a point, whatever the program's locale has for it. */
static void put_real(double value, char *out, size_t size)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = c ? uselocale(c) : c;

    snprintf(out, size, "%.17g", value);
    if (!c)
        return;
    uselocale(before);
    freelocale(c);
}

/* Numbers and strings beside the tensors are what the file says about itself. */
static int note(struct archive *a, const struct ferry__pickle *p, const char *path)
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

/* A memo makes circles possible, and trees that are exponentially larger than their file. */
static int walk(struct archive *a, const struct ferry__pickle *p, const char *path, int depth)
{
    if (depth > MOST_DEPTH || a->visits == 0)
        return malformed(a, *path ? path : "data.pkl",
                         depth > MOST_DEPTH ? "lies too deep" : "the same values come too often");
    a->visits--;
    switch (p->kind) {
    case FERRY__PICKLE_DICT:
        return walk_dict(a, p, path, depth);
    case FERRY__PICKLE_LIST:
        return walk_list(a, p, path, depth);
    case FERRY__PICKLE_CALL:
        return walk_call(a, p, path, depth);
    case FERRY__PICKLE_BOOL:
    case FERRY__PICKLE_INT:
    case FERRY__PICKLE_FLOAT:
    case FERRY__PICKLE_STRING:
        return note(a, p, path);
    case FERRY__PICKLE_STORAGE:
        return add_unreadable(a, path, "storage", "it is a storage, which no tensor gives a shape");
    default:
        return FERRY_OK;
    }
}

static int open_archive(struct archive *a)
{
    const struct storage *order;
    struct ferry__pickle *root = NULL;
    int err = list_members(a);

    if (err)
        return err;
    if (!a->prefix)
        return malformed(a, "data.pkl", "is not in the archive");
    if (a->pickle.deflated)
        return malformed(a, "data.pkl", "is deflated, as PyTorch never writes it");
    order = member_of(a, "", "byteorder");
    a->swap =
        (order && order->size == 3 && memcmp(order->bytes, "big", 3) == 0) != ferry__big_endian();
    err = ferry__pickle_read(a->io, a->pickle.bytes, a->pickle.size, &root);
    return err ? err : walk(a, root, "", 0);
}

static int open_file(struct ferry_io *io)
{
    struct archive a = { .io = io, .visits = 1000000 + io->file.size };
    int err = open_archive(&a);

    ferry__names_free(&a.names);
    return err;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Of a tensor that is a view: element by element, the last axis at a stretch. */
static int read_strided(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                        int64_t start, int64_t count, void *out)
{
    const struct strided *own = array->own;
    const ferry_io_entry *e = &array->entry;
    size_t size = ferry__values_element(&array->data);
    unsigned char *to = out;
    int last = e->naxes - 1;

    (void)io;
    (void)diff;
    for (int64_t left = count; left > 0;) {
        int64_t rest = start + (count - left), place = 0, n = e->dims[last] - rest % e->dims[last];

        for (int i = last; i >= 0; i--) {
            place += rest % e->dims[i] * own->stride[i];
            rest /= e->dims[i];
        }
        n = n < left ? n : left;
        for (int64_t i = 0; i < n; i++, to += size)
            memcpy(to, own->bytes + (size_t)(place + i * own->stride[last]) * size, size);
        left -= n;
    }
    if (array->data.swap)
        ferry__swap_bytes(out, count, size);
    return FERRY_OK;
}

const struct ferry__io_reader ferry__torch_reader = {
    .adoptable = true,
    .unique = true,
    .probe = probe,
    .open = open_file,
    .read = read_strided,
};

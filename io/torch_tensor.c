/* SPDX-License-Identifier: BSD-2-Clause */
#include "torch_tensor.h"

#include <stdio.h>
#include <string.h>

/* ---- tensors -------------------------------------------------------------------------------- */

/*
 * The maximum number of tensors with the same name: nested dictionaries, and keys that are numbers
 * or strings, can produce equal names.
 */
#define MOST_OF_ONE_NAME 1000

struct type {
    const char *name; /* as in the tables: the name of a storage's class, or of a dtype */
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

/* The type of a name such as "torch FloatStorage" or "torch float8_e5m2"; NULL for other names. */
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
    const struct ferry__torch_storage *at;
    int64_t offset; /* in elements */
    int rank;
    int64_t shape[FERRY_MAX_AXES], strides[FERRY_MAX_AXES];
    int64_t count;
    const char *odd, *why; /* the type that ferry cannot read, and the reason; NULL: the tensor is
                            * readable */
};

static bool is_integer(const struct ferry__pickle *p)
{
    return p && p->kind == FERRY__PICKLE_INT;
}

/*
 * Reads a tuple of non-negative numbers, at most as many as ferry has axes. *out_n is the length of
 * the tuple.
 */
static int take_numbers(const struct ferry__pickle *list, int64_t *out, int64_t *out_n)
{
    int64_t n = 0;

    if (!list || list->kind != FERRY__PICKLE_LIST)
        return -1;
    for (const struct ferry__pickle_link *l = list->first; l; l = l->next, n++) {
        if (!is_integer(l->value) || l->value->number < 0)
            return -1;
        if (n < FERRY_MAX_AXES)
            out[n] = l->value->number;
    }
    *out_n = n;
    return 0;
}

static int mark(struct tensor *t, const char *odd, const char *why)
{
    t->odd = odd;
    t->why = why;
    return FERRY_OK;
}

static const char *word_of(const struct ferry__pickle *global)
{
    const char *space =
        global && global->kind == FERRY__PICKLE_GLOBAL ? strchr(global->text, ' ') : NULL;

    return space ? space + 1 : "?";
}

/* Takes ('storage', class, key, location, elements); `dtype` is the type of an untyped storage. */
static int take_storage(const struct ferry__torch *a, const char *name,
                        const struct ferry__pickle *p, const struct ferry__pickle *dtype,
                        struct tensor *t)
{
    const struct ferry__pickle *class = ferry__pickle_member(p, 1),
                               *key = ferry__pickle_member(p, 2);

    if (!class || class->kind != FERRY__PICKLE_GLOBAL || !key || key->kind != FERRY__PICKLE_STRING)
        return ferry__torch_malformed(a, name, "its storage is not one of PyTorch's");
    t->type = type_of(class);
    if (!t->type)
        t->type = type_of(dtype);
    if (!t->type)
        return mark(t, word_of(dtype ? dtype : class), "ferry has no such dtype");
    t->at = ferry__torch_member(a, "data/", key->text);
    return t->at ? FERRY_OK : mark(t, t->type->dtype_name, "its storage is not in the archive");
}

/*
 * Checks that every element is inside the storage, and that the number of elements is plausible for
 * a file of this size.
 */
static int check_places(const struct ferry__torch *a, const char *name, struct tensor *t)
{
    uint64_t last = (uint64_t)t->offset, room = t->at->size / t->type->size, bytes;

    for (int i = 0; i < t->rank && t->count > 0; i++) {
        if (t->shape[i] > 1 && (uint64_t)t->strides[i] > (room - 1) / (uint64_t)(t->shape[i] - 1))
            return ferry__torch_malformed(a, name, "its strides lead out of its storage");
        last += (uint64_t)(t->shape[i] - 1) * (uint64_t)t->strides[i];
        if (last >= room)
            return ferry__torch_malformed(a, name, "its strides lead out of its storage");
    }
    if (t->count > 0 && last >= room)
        return ferry__torch_malformed(a, name, "it begins after the end of its storage");
    bytes = (uint64_t)t->count * t->type->size;
    if (bytes > 64u << 20 && (bytes - (64u << 20)) / 1024 > a->io->file.size)
        return mark(t, t->type->dtype_name,
                    "it repeats a few values more often than is plausible for a file of this size");
    return FERRY_OK;
}

static int check_tensor(const struct ferry__torch *a, const char *name, struct tensor *t)
{
    t->count = ferry__io_count(t->rank, t->shape, t->type ? t->type->size : 1);
    if (t->count < 0)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "%s: %.200s: the dims multiply to more than 2^63 bytes",
                               a->io->file.path, name);
    if (t->odd)
        return FERRY_OK;
    if (t->at->deflated)
        return mark(t, t->type->dtype_name, "its storage is deflated, which PyTorch never does");
    if (t->type->storage == FERRY__STORED_OTHERWISE)
        mark(t, t->type->dtype_name, "ferry has no such dtype");
    return check_places(a, name, t);
}

/*
 * Whether the view's elements have to change sign: its metadata beside the strides has {"neg":
 * True}.
 */
static bool is_lazy(const struct ferry__pickle *metadata)
{
    if (!metadata || metadata->kind != FERRY__PICKLE_DICT)
        return false;
    for (const struct ferry__pickle_link *l = metadata->first; l && l->next; l = l->next->next)
        if (l->value->kind == FERRY__PICKLE_STRING && l->next->value->number &&
            (strcmp(l->value->text, "neg") == 0 || strcmp(l->value->text, "conj") == 0))
            return true;
    return false;
}

/*
 * Takes _rebuild_tensor_v2(storage, offset, size, strides, …, metadata); v3 has the dtype before
 * the metadata.
 */
static int take_tensor(const struct ferry__torch *a, const char *name,
                       const struct ferry__pickle *call, struct tensor *t)
{
    bool v3 = strstr(call->callee->text, "_rebuild_tensor_v3") != NULL;
    const struct ferry__pickle *storage = ferry__pickle_member(call, 0),
                               *offset = ferry__pickle_member(call, 1),
                               *dtype = v3 ? ferry__pickle_member(call, 6) : NULL;
    int64_t axes = 0, strides = 0;
    int err;

    if (!storage || storage->kind != FERRY__PICKLE_STORAGE || !is_integer(offset) ||
        offset->number < 0 || take_numbers(ferry__pickle_member(call, 2), t->shape, &axes) ||
        take_numbers(ferry__pickle_member(call, 3), t->strides, &strides) || axes != strides)
        return ferry__torch_malformed(a, name,
                                      "is not a tensor although a tensor's function makes it");
    t->offset = offset->number;
    t->rank = axes > FERRY_MAX_AXES ? 0 : (int)axes;
    err = take_storage(a, name, storage, dtype, t);
    if (!err && axes > FERRY_MAX_AXES)
        return mark(t, t->type ? t->type->dtype_name : t->odd, "it has more than 32 axes");
    if (!err)
        err = check_tensor(a, name, t);
    if (!err && !t->odd && is_lazy(ferry__pickle_member(call, v3 ? 7 : 6)))
        mark(t, t->type->dtype_name,
             "its elements are negated lazily: call resolve_neg() before saving");
    return err;
}

static bool is_contiguous(const struct tensor *t)
{
    int64_t step = 1;

    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->shape[i];
    }
    return true;
}

/*
 * Makes the array's name: the path, or "path#2" if an array with the path exists. The longer name
 * belongs to the arena.
 */
static int make_name(struct ferry__torch *a, const char *path, const char **out)
{
    size_t size = strlen(path) + 8;
    char *longer = NULL;

    *out = path;
    for (int n = 2; n <= MOST_OF_ONE_NAME; n++) {
        int64_t former = ferry__names_add(&a->arrays, *out, 0);

        if (former == -2)
            return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", a->io->file.path);
        if (former < 0)
            return FERRY_OK;
        if (!longer && !(longer = ferry__io_alloc(a->io, size)))
            return ferry_last_error_code();
        snprintf(longer, size, "%s#%d", path, n);
        *out = longer;
    }
    return ferry__torch_malformed(a, path, "comes too often");
}

/* Adds an array with that path, or with the file's name if the path is empty. */
static int add_array(struct ferry__torch *a, const char *path, ferry_dtype dtype, int rank,
                     const int64_t *shape, struct ferry__io_array **out)
{
    struct ferry__io_name name = { .name = NULL };
    int err = make_name(a, *path ? path : a->io->file.stem, &name.name);

    return err ? err : ferry__io_add(a->io, &name, dtype, rank, shape, out);
}

static int add_marked(struct ferry__torch *a, const char *path, int rank, const int64_t *shape,
                      const char *what, const char *why)
{
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN,
                                    .dtype = FERRY_U8,
                                    .storage = FERRY__STORED_OTHERWISE,
                                    .bytes = a->io->file.bytes };
    struct ferry__io_array *array;
    int err = add_array(a, path, FERRY_U8, rank, shape, &array);

    if (err)
        return err;
    ferry__io_set_data(a->io, array, &values);
    return ferry__io_mark(a->io, array, what, why);
}

int ferry__torch_add_unreadable(struct ferry__torch *a, const char *path, const char *what,
                                const char *why)
{
    static const int64_t nothing[1] = { 0 };
    const char *space = strrchr(what, ' ');

    return add_marked(a, path, 1, nothing, space ? space + 1 : what, why);
}

static int add_values(struct ferry__torch *a, const char *path, const struct tensor *t)
{
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN,
                                    .dtype = t->type->dtype,
                                    .storage = t->type->storage,
                                    .bytes = t->at->bytes + (size_t)t->offset * t->type->size,
                                    .size = (uint64_t)t->count * t->type->size,
                                    .swap = a->swap && t->type->size > 1 };
    struct ferry__torch_strided *own = ferry__io_alloc(a->io, sizeof(*own));
    struct ferry__io_array *array;
    int err = own ? add_array(a, path, t->type->dtype, t->rank, t->shape, &array)
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
    return FERRY_OK;
}

int ferry__torch_add_tensor(struct ferry__torch *a, const char *path,
                            const struct ferry__pickle *call)
{
    struct tensor t = { .type = NULL };
    int err = take_tensor(a, *path ? path : a->io->file.stem, call, &t);

    if (err)
        return err;
    return t.odd ? add_marked(a, path, t.rank, t.shape, t.odd, t.why) : add_values(a, path, &t);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The registered layer types: ferry's own, and those that programs add. */
#include "net/model/types.h"

#include "net/layers/layers.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * Static storage for ferry's own types and some more, so that these never fail for lack of memory.
 */
static const ferry_layer_type *first_room[128];

static struct {
    pthread_mutex_t lock;
    const ferry_layer_type **at; /* sorted by name */
    int count, room;
} types = { PTHREAD_MUTEX_INITIALIZER, first_room, 0, sizeof first_room / sizeof *first_room };

static pthread_once_t own_types = PTHREAD_ONCE_INIT;

/* The size of the mandatory part of a type: all members up to and including reshape. */
#define LEAST_TYPE (offsetof(ferry_layer_type, reshape) + sizeof(((ferry_layer_type *)0)->reshape))

/*
 * A copy, in the current size, of a table from a program that was compiled with an older, shorter
 * structure; it lives as long as the process.
 */
struct grown {
    ferry_layer_type type;
    const ferry_layer_type *of;
    struct grown *next;
};

static struct grown *grown_types;

/* The position of a name, or the position where it would be inserted. */
static int position_of(const char *name, bool *found)
{
    int low = 0, high = types.count;

    *found = false;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(types.at[middle]->name, name);

        if (!order) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int grow(void)
{
    size_t size = (size_t)types.room * sizeof(const ferry_layer_type *);
    const ferry_layer_type **grown = malloc(2 * size);

    if (!grown)
        return ferry_error_set(FERRY_ENOMEM, "ferry_layer_register: no memory");
    memcpy(grown, types.at, size);
    if (types.at != first_room)
        free(types.at);
    types.at = grown;
    types.room *= 2;
    return 0;
}

static int add(const ferry_layer_type *type)
{
    bool found;
    int i = position_of(type->name, &found);

    if (found) {
        types.at[i] = type;
        return 0;
    }
    if (types.count == types.room && grow())
        return FERRY_ENOMEM;
    memmove(&types.at[i + 1], &types.at[i],
            (size_t)(types.count - i) * sizeof(const ferry_layer_type *));
    types.at[i] = type;
    types.count++;
    return 0;
}

static void add_own(void)
{
    int i;

    pthread_mutex_lock(&types.lock);
    for (i = 0; ferry__layer_at(i); i++)
        if (add(ferry__layer_at(i)))
            break;
    pthread_mutex_unlock(&types.lock);
}

/*
 * Returns the type itself, or a copy with missing members set to 0; NULL: no memory. Registering a
 * table again returns the same copy.
 */
static const ferry_layer_type *whole(const ferry_layer_type *type)
{
    struct grown *g;

    if (type->struct_size >= sizeof *type)
        return type;
    for (g = grown_types; g; g = g->next)
        if (g->of == type && !memcmp(&g->type, type, type->struct_size))
            return &g->type;
    g = calloc(1, sizeof *g);
    if (!g) {
        ferry_error_set(FERRY_ENOMEM, "ferry_layer_register: no memory");
        return NULL;
    }
    memcpy(&g->type, type, type->struct_size);
    g->of = type;
    g->next = grown_types;
    grown_types = g;
    return &g->type;
}

#define ALL_FLAGS                                                                             \
    (FERRY_LAYER_IN_PLACE | FERRY_LAYER_LOSS | FERRY_LAYER_RESHAPES | FERRY_LAYER_AUTO_TOPS | \
     FERRY_LAYER_LABELS | FERRY_LAYER_FORWARD_ONLY | FERRY_LAYER_PAIRS | FERRY_LAYER_INPUT |  \
     FERRY_LAYER_EMPTY_BACKWARD)

/* The number of tops that a net can create for one layer (ferry__net_build). */
#define MOST_AUTO_TOPS 8

static bool is_range(int min, int max)
{
    return min >= -1 && max >= -1 && (max < 0 || min <= max);
}

/* The reason why a type with struct_size, name and reshape cannot be used; NULL: it can. */
static const char *fault_of(const ferry_layer_type *type)
{
    if (type->flags & ~(uint32_t)ALL_FLAGS)
        return "unknown flags";
    if (type->state_size > PTRDIFF_MAX / 2)
        return "a state_size without limit";
    if (!is_range(type->min_bottoms, type->max_bottoms))
        return "min_bottoms and max_bottoms that no layer satisfies";
    if (!is_range(type->min_tops, type->max_tops))
        return "min_tops and max_tops that no layer satisfies";
    if (type->flags & FERRY_LAYER_AUTO_TOPS && type->min_tops > MOST_AUTO_TOPS)
        return "FERRY_LAYER_AUTO_TOPS for more than 8 tops";
    return NULL;
}

static int check_type(const ferry_layer_type *type)
{
    const char *fault;

    if (!type || type->struct_size < LEAST_TYPE || !type->name || !type->name[0] || !type->reshape)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_layer_register: a type without struct_size, name or reshape");
    fault = fault_of(type);
    if (fault)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_register: type \"%s\" has %s", type->name,
                               fault);
    return 0;
}

int ferry_layer_register(const ferry_layer_type *type)
{
    int err = check_type(type);

    if (err)
        return err;
    pthread_once(&own_types, add_own);
    pthread_mutex_lock(&types.lock);
    type = whole(type);
    err = type ? add(type) : FERRY_ENOMEM;
    pthread_mutex_unlock(&types.lock);
    return err;
}

const ferry_layer_type *ferry_layer_type_find(const char *name)
{
    const ferry_layer_type *type = NULL;
    bool found;
    int i;

    if (!name)
        return NULL;
    pthread_once(&own_types, add_own);
    pthread_mutex_lock(&types.lock);
    i = position_of(name, &found);
    if (found)
        type = types.at[i];
    pthread_mutex_unlock(&types.lock);
    return type;
}

int ferry_layer_type_count(void)
{
    int count;

    pthread_once(&own_types, add_own);
    pthread_mutex_lock(&types.lock);
    count = types.count;
    pthread_mutex_unlock(&types.lock);
    return count;
}

const ferry_layer_type *ferry_layer_type_at(int index)
{
    const ferry_layer_type *type = NULL;

    pthread_once(&own_types, add_own);
    pthread_mutex_lock(&types.lock);
    if (index >= 0 && index < types.count)
        type = types.at[index];
    pthread_mutex_unlock(&types.lock);
    return type;
}

/*
 * ---- claimed messages and similar names ---------------------------------------------------------
 */

int ferry__types_claim(void *arg, const char *message)
{
    int i, n = ferry_layer_type_count();

    (void)arg;
    for (i = 0; i < n; i++) {
        const ferry_layer_type *type = ferry_layer_type_at(i);
        const char *const *own = type ? type->messages : NULL;

        for (; own && *own; own++)
            if (!strcmp(*own, message))
                return 1;
    }
    return 0;
}

/* The Levenshtein distance, computed with one row of memory, because names are short. */
static int distance(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b), i, k;

    if (strlen(a) > 60 || n > 60)
        return 100;
    for (k = 0; k <= n; k++)
        row[k] = k;
    for (i = 0; a[i]; i++) {
        int diagonal = row[0];

        row[0] = i + 1;
        for (k = 0; k < n; k++) {
            int change = diagonal + (a[i] != b[k]);

            diagonal = row[k + 1];
            change = change < diagonal + 1 ? change : diagonal + 1;
            row[k + 1] = change < row[k] + 1 ? change : row[k] + 1;
        }
    }
    return row[n];
}

const char *ferry__types_nearest(const char *name)
{
    const char *nearest = NULL;
    int i, n = ferry_layer_type_count(), best = (int)(strlen(name) / 2 < 4 ? strlen(name) / 2 : 4);

    for (i = 0; i < n; i++) {
        const ferry_layer_type *type = ferry_layer_type_at(i);
        int d = type ? distance(type->name, name) : 100;

        if (d < best) {
            best = d;
            nearest = type->name;
        }
    }
    return nearest;
}

/* Types of forks that ferry does not implement, with their origin. */
static const struct {
    const char *type, *fork;
} elsewhere[] = {
    { "Python", "a layer in Python, which runs in Python alone (python -m ferry.caffe)" },
    { "AnnotatedData", "weiliu89's SSD, for training" },
    { "MultiBoxLoss", "weiliu89's SSD, for training" },
    { "DetectionEvaluate", "weiliu89's SSD, for training" },
    { "SmoothL1Loss", "rbgirshick's Fast R-CNN, for training" },
    { "CTCLoss", "OpenCV's and BVLC's forks for text" },
    { "Warp", "forks for spatial transformers" },
    { "SpatialTransformer", "forks for spatial transformers" },
    { "YoloDetection", "forks of Caffe with YOLO" },
    { "Correlation", "FlowNet's fork" },
    { "Mish", "forks of Caffe with YOLO" },
    { "Region", "forks of Caffe with YOLO" },
    { "Reorg", "forks of Caffe with YOLO" },
    { "EvalDetection", "forks of Caffe with YOLO, for training" },
    { "RegionLoss", "forks of Caffe with YOLO, for training" },
    { "RoIAlign", "forks of Caffe with Mask R-CNN" },
    { "ROIAlign", "forks of Caffe with Mask R-CNN" },
    { "BoxAnnotatorOHEM", "Microsoft's R-FCN, for training" },
    { "FlowWarp", "FlowNet's fork" },
    { "Resample", "FlowNet's fork" },
    { "TripletLoss", "forks of Caffe for faces, for training" },
    { "CenterLoss", "forks of Caffe for faces, for training" },
    { "Reverse", "forks of Caffe with LSTM for text" },
    { "Transpose", "forks of Caffe with LSTM for text" },
    { "Lstm", "junhyukoh's fork; Caffe's own is LSTM" },
};

const char *ferry__types_fork(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strcmp(elsewhere[i].type, name))
            return elsewhere[i].fork;
    return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "hdf5_lib.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static H5E_auto2_t printer; /* the program's own setting, put back when we leave */
static void *printer_arg;

void ferry__hdf5_enter(void)
{
    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &printer, &printer_arg);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void ferry__hdf5_leave(void)
{
    H5Eset_auto2(H5E_DEFAULT, printer, printer_arg);
    pthread_mutex_unlock(&lock);
}

struct reason {
    char *buf;
    size_t size;
};

static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *arg)
{
    const struct reason *reason = arg;

    (void)n;
    if (error->desc && *error->desc)
        snprintf(reason->buf, reason->size, "%s", error->desc);
    return 0;
}

/* The walk goes from the call that failed to the cause: the last one heard says the most. */
const char *ferry__hdf5_reason(char *buf, size_t size)
{
    struct reason reason = { buf, size };

    snprintf(buf, size, "unknown");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, &reason);
    return buf;
}

/* binary16: one sign bit, 5 bits of exponent, 10 of mantissa; libhdf5 1.10 has none of its own. */
static hid_t half_type(int native)
{
    hid_t type = H5Tcopy(native ? H5T_NATIVE_FLOAT : H5T_IEEE_F32LE);

    if (type >= 0 && H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(type, 2) >= 0 &&
        H5Tset_ebias(type, 15) >= 0)
        return type;
    if (type >= 0)
        H5Tclose(type);
    return -1;
}

hid_t ferry__hdf5_type(ferry_dtype dtype, int native)
{
    switch (dtype) {
    case FERRY_F32:
        return H5Tcopy(native ? H5T_NATIVE_FLOAT : H5T_IEEE_F32LE);
    case FERRY_F64:
        return H5Tcopy(native ? H5T_NATIVE_DOUBLE : H5T_IEEE_F64LE);
    case FERRY_F16:
        return half_type(native);
    case FERRY_I8:
        return H5Tcopy(native ? H5T_NATIVE_INT8 : H5T_STD_I8LE);
    case FERRY_U8:
        return H5Tcopy(native ? H5T_NATIVE_UINT8 : H5T_STD_U8LE);
    case FERRY_I32:
        return H5Tcopy(native ? H5T_NATIVE_INT32 : H5T_STD_I32LE);
    case FERRY_I64:
        return H5Tcopy(native ? H5T_NATIVE_INT64 : H5T_STD_I64LE);
    case FERRY_U32:
        return H5Tcopy(native ? H5T_NATIVE_UINT32 : H5T_STD_U32LE);
    default:
        return -1;
    }
}

/* The same but for the order of bytes. */
static bool same_type(hid_t type, hid_t candidate)
{
    H5T_order_t order = H5Tget_order(type);
    bool same;

    if (H5Tget_size(type) > 1 && order != H5T_ORDER_NONE)
        H5Tset_order(candidate, order);
    same = H5Tequal(type, candidate) > 0;
    H5Tclose(candidate);
    return same;
}

bool ferry__hdf5_dtype(hid_t type, ferry_dtype *out)
{
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++) {
        hid_t candidate = ferry__hdf5_type((ferry_dtype)i, 0);

        if (candidate >= 0 && same_type(type, candidate)) {
            *out = (ferry_dtype)i;
            return true;
        }
    }
    return false;
}

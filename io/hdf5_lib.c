/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "hdf5_lib.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static H5E_auto2_t printer; /* the program's own setting, restored by leave */
static void *printer_arg;

/*
 * Removes variables in a program with more rights than its caller: libhdf5 loads files that they
 * name, and reads them at its first call.
 */
static void forget_variables(void)
{
    static const char *const names[] = { "HDF5_PLUGIN_PATH", "HDF5_PLUGIN_PRELOAD", "HDF5_DRIVER",
                                         "HDF5_DRIVER_CONFIG", "HDF5_VOL_CONNECTOR" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]) && !secure_getenv(names[i]))
            unsetenv(names[i]);
}

/*
 * Turns libhdf5's printing off at exit: otherwise it prints an error for each object of a damaged
 * file that it could not release. libhdf5 still runs its own exit handler and closes files that the
 * program has left open.
 */
static void end_quietly(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/*
 * Initializes libhdf5 and registers end_quietly. Exit handlers run in reverse order of
 * registration, so end_quietly runs before libhdf5's own handler.
 */
static void begin(void)
{
    forget_variables();
    if (H5open() >= 0)
        (void)atexit(end_quietly);
}

void ferry__hdf5_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin);
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

/*
 * Returns the reason of libhdf5's latest error. Its list goes from the failed call down to the
 * cause, so the last entry is the most specific.
 */
const char *ferry__hdf5_reason(char *buf, size_t size)
{
    struct reason reason = { buf, size };

    snprintf(buf, size, "unknown");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, &reason);
    return buf;
}

bool ferry__hdf5_header_open(hid_t set, struct ferry__hdf5_header *out)
{
    out->type = H5Dget_type(set);
    out->space = H5Dget_space(set);
    out->plist = H5Dget_create_plist(set);
    return out->type >= 0 && out->space >= 0 && out->plist >= 0;
}

void ferry__hdf5_header_close(const struct ferry__hdf5_header *header)
{
    if (header->type >= 0)
        H5Tclose(header->type);
    if (header->space >= 0)
        H5Sclose(header->space);
    if (header->plist >= 0)
        H5Pclose(header->plist);
}

/*
 * Makes binary16: one sign bit, 5 bits of exponent, 10 of mantissa. libhdf5 1.10 lacks this
 * predefined type.
 */
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

/* Makes h5py's type for Booleans: an enumeration of one byte with FALSE and TRUE. */
static hid_t bool_type(H5T_order_t order)
{
    hid_t type = H5Tenum_create(order == H5T_ORDER_BE ? H5T_STD_I8BE : H5T_STD_I8LE);
    signed char no = 0, yes = 1;

    if (type >= 0 &&
        (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

hid_t ferry__hdf5_stored_type(enum ferry__storage storage, ferry_dtype dtype)
{
    switch (storage) {
    case FERRY__STORED_AS_DTYPE:
        return ferry__hdf5_type(dtype, 0);
    case FERRY__STORED_U16:
        return H5Tcopy(H5T_STD_U16LE);
    case FERRY__STORED_U64:
        return H5Tcopy(H5T_STD_U64LE);
    case FERRY__STORED_I16:
        return H5Tcopy(H5T_STD_I16LE);
    case FERRY__STORED_BOOL:
        return bool_type(H5T_ORDER_LE);
    default:
        return -1;
    }
}

/* Whether the types are equal except for the byte order. */
static bool same_type(hid_t type, enum ferry__storage storage, ferry_dtype dtype)
{
    H5T_order_t order = H5Tget_order(type);
    bool is_bool = storage == FERRY__STORED_BOOL, same;
    hid_t candidate = is_bool ? bool_type(order) : ferry__hdf5_stored_type(storage, dtype);

    if (candidate < 0)
        return false;
    if (!is_bool && order == H5T_ORDER_BE)
        H5Tset_order(candidate, order);
    same = H5Tequal(type, candidate) > 0;
    H5Tclose(candidate);
    return same;
}

static const char *word_of(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return "integer";
    case H5T_FLOAT:
        return "float";
    case H5T_STRING:
        return "string";
    case H5T_BITFIELD:
        return "bit field";
    case H5T_OPAQUE:
        return "opaque";
    case H5T_COMPOUND:
        return "compound";
    case H5T_REFERENCE:
        return "reference";
    case H5T_ENUM:
        return "enumeration";
    case H5T_VLEN:
        return "sequence";
    case H5T_ARRAY:
        return "array";
    default:
        return "unknown";
    }
}

void ferry__hdf5_element_of(hid_t type, struct ferry__hdf5_element *out)
{
    *out = (struct ferry__hdf5_element){ .size = H5Tget_size(type), .word = word_of(type) };
    out->swap = out->size > 1 && (H5Tget_order(type) == H5T_ORDER_BE) != ferry__big_endian();
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++)
        if (same_type(type, FERRY__STORED_AS_DTYPE, (ferry_dtype)i)) {
            out->dtype = (ferry_dtype)i;
            return;
        }
    out->storage = FERRY__STORED_OTHERWISE;
    for (int i = FERRY__STORED_U16; i < FERRY__STORED_OTHERWISE; i++)
        if (same_type(type, (enum ferry__storage)i, FERRY_U8))
            out->storage = (enum ferry__storage)i;
    out->dtype = ferry__storage_dtype(out->storage);
}

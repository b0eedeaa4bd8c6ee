/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout that two binaries must agree on. Compiled, never run: with the current header, with
 * the first one, and with one of a later version. Lines never change within a major version; a
 * minor version adds lines at the end of a group.
 */
#include <ferry/plugin.h>

#include <stddef.h>

_Static_assert(sizeof(void *) == 8, "the numbers are those of 64-bit machines");

#define AT(type, member, offset) \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")
#define AT_LEAST(type, size) _Static_assert(sizeof(type) >= (size), #type " has shrunk")

/* Frozen: passed by value, or stored in files. */
SIZE(ferry_ref, 16);
AT(ferry_ref, handle, 0);
AT(ferry_ref, offset, 8);
SIZE(ferry_cref, 16);
AT(ferry_cref, handle, 0);
AT(ferry_cref, offset, 8);
AT_LEAST(ferry_plugin_descriptor, 180);
AT(ferry_plugin_descriptor, note_namesz, 0);
AT(ferry_plugin_descriptor, note_descsz, 4);
AT(ferry_plugin_descriptor, note_type, 8);
AT(ferry_plugin_descriptor, note_owner, 12);
AT(ferry_plugin_descriptor, magic, 20);
AT(ferry_plugin_descriptor, struct_size, 24);
AT(ferry_plugin_descriptor, abi_major, 28);
AT(ferry_plugin_descriptor, abi_minor, 32);
AT(ferry_plugin_descriptor, min_host_minor, 36);
AT(ferry_plugin_descriptor, sanitizer, 40);
AT(ferry_plugin_descriptor, cpu_features, 44);
AT(ferry_plugin_descriptor, reserved, 48);
AT(ferry_plugin_descriptor, name, 52);
AT(ferry_plugin_descriptor, version, 84);
AT(ferry_plugin_descriptor, vendor, 116);

AT_LEAST(ferry_host, 40);
AT(ferry_host, struct_size, 0);
AT(ferry_host, abi_major, 4);
AT(ferry_host, abi_minor, 8);
AT(ferry_host, reserved, 12);
AT(ferry_host, error, 16);
AT(ferry_host, log, 24);
AT(ferry_host, option, 32);
#if FERRY_ABI_MINOR >= 1
AT(ferry_host, option_integer, 40);
AT(ferry_host, option_real, 48);
AT(ferry_host, option_boolean, 56);
AT(ferry_host, option_size, 64);
AT(ferry_host, option_enum, 72);
AT(ferry_host, cache_folder, 80);
AT_LEAST(ferry_host, 88);
#endif

AT_LEAST(ferry_plugin_properties, 264);
AT(ferry_plugin_properties, struct_size, 0);
AT(ferry_plugin_properties, flags, 4);
AT(ferry_plugin_properties, memory_total, 8);
AT(ferry_plugin_properties, max_alloc, 16);
AT(ferry_plugin_properties, sync_domain, 24);
AT(ferry_plugin_properties, host_alignment, 32);
AT(ferry_plugin_properties, description, 40);
AT(ferry_plugin_properties, uuid, 168);
AT(ferry_plugin_properties, pci, 232);

AT_LEAST(ferry_plugin_option, 40);
AT(ferry_plugin_option, name, 0);
AT(ferry_plugin_option, default_value, 8);
AT(ferry_plugin_option, description, 16);
AT(ferry_plugin_option, values, 24);
AT(ferry_plugin_option, type, 32);
AT(ferry_plugin_option, reserved, 36);

AT_LEAST(ferry_plugin_counters, 144);
AT(ferry_plugin_counters, struct_size, 0);
AT(ferry_plugin_counters, reserved, 4);
AT(ferry_plugin_counters, live_blocks, 8);
AT(ferry_plugin_counters, live_bytes, 16);
AT(ferry_plugin_counters, live_host_blocks, 24);
AT(ferry_plugin_counters, live_imports, 32);
AT(ferry_plugin_counters, live_maps, 40);
AT(ferry_plugin_counters, live_queues, 48);
AT(ferry_plugin_counters, live_events, 56);
AT(ferry_plugin_counters, copies_h2d, 64);
AT(ferry_plugin_counters, copies_d2h, 72);
AT(ferry_plugin_counters, copies_d2d, 80);
AT(ferry_plugin_counters, bytes_h2d, 88);
AT(ferry_plugin_counters, bytes_d2h, 96);
AT(ferry_plugin_counters, bytes_d2d, 104);
AT(ferry_plugin_counters, maps, 112);
AT(ferry_plugin_counters, unmaps, 120);
AT(ferry_plugin_counters, memsets, 128);
AT(ferry_plugin_counters, ops, 136);

/* The table: a header, and then entries of one pointer each, in this order. */
AT(ferry_plugin_ops, struct_size, 0);
AT(ferry_plugin_ops, option_count, 4);
AT(ferry_plugin_ops, options, 8);
AT(ferry_plugin_ops, option_size, 16);
AT(ferry_plugin_ops, reserved, 20);
AT(ferry_plugin_ops, plugin, 24);
#define ENTRY(member, place) AT(ferry_plugin_ops, member, 32 + 8 * (place))
ENTRY(device_count, 0);
ENTRY(device_open, 1);
ENTRY(device_close, 2);
ENTRY(alloc, 3);
ENTRY(free, 4);
ENTRY(memcpy, 5);
ENTRY(memset, 6);
ENTRY(axpy, 7);
ENTRY(synchronize, 8);
ENTRY(properties, 9);
ENTRY(supports, 10);
ENTRY(memory_info, 11);
ENTRY(counters, 12);
ENTRY(trim, 13);
#ifndef OLDER
ENTRY(host_alloc, 14);
ENTRY(host_free, 15);
ENTRY(import_host, 16);
ENTRY(unimport_host, 17);
ENTRY(map, 18);
ENTRY(unmap, 19);
ENTRY(peer_access, 20);
ENTRY(peer_copy, 21);
ENTRY(queue_create, 22);
ENTRY(queue_destroy, 23);
ENTRY(queue_synchronize, 24);
ENTRY(queue_wrap, 25);
ENTRY(queue_native, 26);
ENTRY(event_record, 27);
ENTRY(event_query, 28);
ENTRY(event_synchronize, 29);
ENTRY(event_destroy, 30);
ENTRY(queue_wait, 31);
ENTRY(native, 32);
ENTRY(adopt, 33);
ENTRY(scal, 34);
ENTRY(copy, 35);
ENTRY(fill, 36);
ENTRY(convert, 37);
ENTRY(dot, 38);
ENTRY(asum, 39);
ENTRY(sumsq, 40);
ENTRY(gemv, 41);
ENTRY(gemm, 42);
AT_LEAST(ferry_plugin_ops, 32 + 8 * 43);
#if FERRY_ABI_MINOR >= 1
ENTRY(extension, 43);
ENTRY(owns, 44);
ENTRY(supports_convert, 45);
AT_LEAST(ferry_plugin_ops, 32 + 8 * 46);
#endif
#endif

/* Constants that are compiled into plugins. */
#define IS(constant, value) _Static_assert((constant) == (value), #constant " has changed")
IS(FERRY_ABI_MAJOR, 1);
IS(FERRY_PLUGIN_MAGIC, 0x31595246);
IS(FERRY_PLUGIN_NOTE_TYPE, 0x46525931);
IS(FERRY_F32, 0);
IS(FERRY_F64, 1);
IS(FERRY_F16, 2);
IS(FERRY_BF16, 3);
IS(FERRY_I8, 4);
IS(FERRY_U8, 5);
IS(FERRY_I32, 6);
IS(FERRY_I64, 7);
#if FERRY_DTYPE_COUNT > 8
IS(FERRY_U32, 8);
#endif
IS(FERRY_READ, 1);
IS(FERRY_WRITE, 2);
IS(FERRY_NO_TRANS, 111);
IS(FERRY_TRANS, 112);
IS(FERRY_DEVICE_HOST_MEMORY, 1);
IS(FERRY_DEVICE_UNIFIED, 2);
IS(FERRY_DEVICE_CONCURRENT, 4);
IS(FERRY_DEVICE_ORDERED_ALLOC, 8);
IS(FERRY_DEVICE_POINTERS, 16);
IS(FERRY_ALLOC_ZERO, 1);
IS(FERRY_ALLOC_WAS_ZEROED, 1);
IS(FERRY_MEMCPY_H2D, 1);
IS(FERRY_MEMCPY_D2H, 2);
IS(FERRY_MEMCPY_D2D, 3);
IS(FERRY_OP_AXPY, 0);
IS(FERRY_OP_SCAL, 1);
IS(FERRY_OP_COPY, 2);
IS(FERRY_OP_FILL, 3);
IS(FERRY_OP_CONVERT, 4);
IS(FERRY_OP_DOT, 5);
IS(FERRY_OP_ASUM, 6);
IS(FERRY_OP_SUMSQ, 7);
IS(FERRY_OP_GEMV, 8);
IS(FERRY_OP_GEMM, 9);
IS(FERRY_OPTION_STRING, 0);
IS(FERRY_OPTION_INT, 1);
IS(FERRY_OPTION_REAL, 2);
IS(FERRY_OPTION_BOOL, 3);
IS(FERRY_OPTION_SIZE, 4);
IS(FERRY_OPTION_ENUM, 5);
IS(FERRY_EINVAL, -1);
IS(FERRY_ENOMEM, -2);
IS(FERRY_ENODEV, -3);
IS(FERRY_EUNSUPPORTED, -4);
IS(FERRY_EOVERFLOW, -5);
IS(FERRY_ESHAPE, -6);
IS(FERRY_EUNINIT, -7);
IS(FERRY_EBUSY, -8);
IS(FERRY_EDEVICE, -9);
IS(FERRY_ELOST, -10);
IS(FERRY_EPLUGIN, -11);
IS(FERRY_EABI, -12);
IS(FERRY_EPERM, -13);
IS(FERRY_ECONF, -14);
IS(FERRY_EFORMAT, -15);
IS(FERRY_EIO, -16);
IS(FERRY_EFORKED, -17);

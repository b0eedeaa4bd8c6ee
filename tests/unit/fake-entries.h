/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_ENTRIES_H
#define FAKE_ENTRIES_H

#include <ferry/op_plugin.h>
#include <ferry/plugin.h>

/*
 * Entries of a fake plugin of host memory, for programs in the place of ferry: those that do what
 * the rules demand and nothing else. A program has the entries that commit its faults itself.
 */

/* One device, number 0; `fake_flags` are the flags of its properties. */
extern uint32_t fake_flags;
int fake_device_open(void *plugin, uint32_t index, void **out);
void fake_device_close(void *dev);
int fake_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
int fake_synchronize(void *dev);
/* An entry that succeeds at nothing, of host memory, queues and events. */
int fake_done(void *dev, void *object);

int fake_free(void *dev, void *queue, void *handle);
int fake_copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src, uint64_t bytes);
/* A dst of NULL is ignored. */
int fake_set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);

/* `extension` returns this table for every name; a program that uses it sets the other entries. */
extern ferry_op_table fake_operations;
int fake_extension(void *dev, const char *name, const void **out);

#endif

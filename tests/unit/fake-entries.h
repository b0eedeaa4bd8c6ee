/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_ENTRIES_H
#define FAKE_ENTRIES_H

#include <ferry/op_plugin.h>
#include <ferry/plugin.h>

/*
 * Entries of a fake plugin of host memory, for test programs that take the place of ferry: the
 * entries obey the rules and do nothing else. A program defines the entries that break a rule
 * itself.
 */

/* One device, number 0; `fake_flags` are the flags of its properties. */
extern uint32_t fake_flags;
int fake_device_open(void *plugin, uint32_t index, void **out);
void fake_device_close(void *dev);
int fake_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);
int fake_synchronize(void *dev);
/* An entry of host memory, queues or events that succeeds and does nothing. */
int fake_done(void *dev, void *object);

int fake_free(void *dev, void *queue, void *handle);
int fake_copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src, uint64_t bytes);
/* As memset; a NULL dst is ignored. */
int fake_set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);

/* `extension` returns this table for every name; a program that uses it sets the other entries. */
extern ferry_op_table fake_operations;
int fake_extension(void *dev, const char *name, const void **out);

#endif

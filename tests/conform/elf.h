/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_ELF_H
#define FERRY_CONFORM_ELF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls `each` with the dynamic symbols that a shared object defines and those that it imports,
 * without local ones. False if the file could not be read as a 64-bit ELF file of this machine's
 * byte order.
 */
bool elf_symbols(const char *path, void (*each)(void *arg, const char *name, bool defined),
                 void *arg);

/* Calls `each` with the libraries that it is linked with, which ld.so must find. */
void elf_needed(const char *path, void (*each)(void *arg, const char *name), void *arg);

/*
 * The name in a plugin's note, read without loading the file; "" if there is no valid one.
 */
void elf_plugin_name(const char *path, char *out, size_t size);

#endif

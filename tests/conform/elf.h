/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_ELF_H
#define FERRY_CONFORM_ELF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The dynamic symbols of a shared object: calls `each` with those that it defines and those that it
 * wants. Local ones are left out. False if the file could not be read as a 64-bit ELF file of this
 * machine's byte order.
 */
bool elf_symbols(const char *path, void (*each)(void *arg, const char *name, bool defined),
                 void *arg);

/* Calls `each` with the libraries that it is linked with: those that ld.so has to find. */
void elf_needed(const char *path, void (*each)(void *arg, const char *name), void *arg);

/*
 * The name that a plugin's note gives it, read without loading the file; "" where there is none that
 * could be one.
 */
void elf_plugin_name(const char *path, char *out, size_t size);

#endif

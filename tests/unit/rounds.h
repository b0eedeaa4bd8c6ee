/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <ferry/device.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the device is the cpu plugin's and rounds both factors of an inner product to BF16 where
 * that is permitted: of x (rows × terms) and w (outputs × terms). Asserts that it can be asked.
 */
bool rounds_to_bf16(ferry_device *dev, int64_t rows, int64_t terms, int64_t outputs);

#endif

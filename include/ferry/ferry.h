/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file ferry.h
 * All of libferry for a program. Files of blobs are <ferry/io.h> (libferryio); writing a plugin is
 * <ferry/plugin.h>.
 */
#ifndef FERRY_FERRY_H
#define FERRY_FERRY_H

#include <ferry/blob.h>
#include <ferry/device.h>
#include <ferry/math.h>
#include <ferry/memory.h>
#include <ferry/profile.h>
#include <ferry/queue.h>
#include <ferry/runtime.h>
#include <ferry/status.h>
#include <ferry/types.h>
#include <ferry/version.h>

#endif

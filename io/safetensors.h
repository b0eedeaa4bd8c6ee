/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants of the format safetensors that its reader and its writer share. */
#ifndef FERRY_IO_SAFETENSORS_H
#define FERRY_IO_SAFETENSORS_H

/* The specification's limit of a header, in bytes. */
#define FERRY__SAFETENSORS_HEADER 100000000u

#endif

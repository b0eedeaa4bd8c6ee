# SPDX-License-Identifier: BSD-2-Clause
# What is read beside the code; installed so that a plugin author has it without the repository.

dist_doc_DATA +=

# SPDX-License-Identifier: BSD-2-Clause
# Manual pages.

dist_man_MANS += \
	%D%/ferry.1 \
	%D%/ferry.3 \
	%D%/plugins.conf.5

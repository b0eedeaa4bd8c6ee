# SPDX-License-Identifier: BSD-2-Clause
# Manual pages.

dist_man_MANS += \
	%D%/ferry-plugin.7 \
	%D%/ferry.1 \
	%D%/ferry.3 \
	%D%/plugins.conf.5

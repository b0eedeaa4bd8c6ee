# SPDX-License-Identifier: BSD-2-Clause
# The openvino plugin: segments of nets on OpenVINO, whose library is found at run time.

if BUILD_OPENVINO
plugin_LTLIBRARIES += backends/ferry_openvino.la
backends_ferry_openvino_la_SOURCES = \
	%D%/api.c \
	%D%/graph.c \
	%D%/lower.c \
	%D%/model.c \
	%D%/openvino.h \
	%D%/plugin.c
backends_ferry_openvino_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(OPENVINO_CPPFLAGS)
backends_ferry_openvino_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_openvino_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_openvino_la_LIBADD = -lpthread -ldl
endif

EXTRA_DIST += %D%/README.md

# SPDX-License-Identifier: BSD-2-Clause
# The backend for the Triton server. It sees the public headers; the server defines its TRITON… symbols.

EXTRA_DIST += %D%/README.md

tritondir = $(libdir)/ferry/triton/ferry
triton_LTLIBRARIES += %D%/libtriton_ferry.la
%C%_libtriton_ferry_la_SOURCES = \
	%D%/answer.c \
	%D%/backend.c \
	%D%/backend.h \
	%D%/batch.h \
	%D%/config.c \
	%D%/describe.c \
	%D%/describe.h \
	%D%/execute.c \
	%D%/files.c \
	%D%/gpu.c \
	%D%/instance.c \
	%D%/log.c \
	%D%/model.c \
	%D%/pass.c \
	%D%/request.c \
	%D%/server.h
%C%_libtriton_ferry_la_CPPFLAGS = -I$(top_srcdir) $(PUBLIC_CPPFLAGS)
%C%_libtriton_ferry_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(JANSSON_CFLAGS)
%C%_libtriton_ferry_la_LIBADD = libferrynet.la libferryio.la libferry.la $(JANSSON_LIBS) $(CORE_SYSTEM_LIBS)
%C%_libtriton_ferry_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^TRITONBACKEND_'

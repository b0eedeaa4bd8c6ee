# SPDX-License-Identifier: BSD-2-Clause
# libferrynet: the texts of nets, layers, nets. It uses libferry and libferryio as a stranger would,
# by the installed headers; its own are named from the top of the tree: "net/proto/tree.h".

lib_LTLIBRARIES += libferrynet.la
noinst_LTLIBRARIES += %D%/libferrynetobjs.la

# What op/, net/ and solver/ are built with.
NET_CPPFLAGS = -I$(top_srcdir) $(PUBLIC_CPPFLAGS)
NET_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden

# The objects on their own, so that a unit test can link them and reach what is hidden.
%C%_libferrynetobjs_la_SOURCES =
%C%_libferrynetobjs_la_CPPFLAGS = $(NET_CPPFLAGS)
%C%_libferrynetobjs_la_CFLAGS = $(NET_CFLAGS)

# Higher rooms first.
NET_ROOMS = %D%/libferrynetobjs.la op/libferryopobjs.la

libferrynet_la_SOURCES =
libferrynet_la_LIBADD = $(NET_ROOMS) libferryio.la libferry.la $(CORE_SYSTEM_LIBS) -lm
libferrynet_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS)

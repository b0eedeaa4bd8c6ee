# SPDX-License-Identifier: BSD-2-Clause
# Operations: tiers, composition, the oracle. The lowest room of libferrynet.

noinst_LTLIBRARIES += %D%/libferryopobjs.la

%C%_libferryopobjs_la_SOURCES =
%C%_libferryopobjs_la_CPPFLAGS = $(NET_CPPFLAGS)
%C%_libferryopobjs_la_CFLAGS = $(NET_CFLAGS)

# SPDX-License-Identifier: BSD-2-Clause
# libferryio: files of blobs, to and from host bytes. It sees the public headers only.

lib_LTLIBRARIES += libferryio.la
noinst_LTLIBRARIES += %D%/libferryioobjs.la

%C%_libferryioobjs_la_SOURCES =
%C%_libferryioobjs_la_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_libferryioobjs_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden

libferryio_la_SOURCES =
libferryio_la_LIBADD = %D%/libferryioobjs.la libferry.la
libferryio_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS)

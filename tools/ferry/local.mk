# SPDX-License-Identifier: BSD-2-Clause
# The ferry command.

if HAVE_COMMAND_SOURCES
bin_PROGRAMS += %D%/ferry
%C%_ferry_SOURCES =
%C%_ferry_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_ferry_CFLAGS = $(STD_CFLAGS) $(JANSSON_CFLAGS)
%C%_ferry_LDADD = libferryio.la libferry.la $(JANSSON_LIBS)
%C%_ferry_LDFLAGS =
endif

# SPDX-License-Identifier: BSD-2-Clause
# The ferry command.

if HAVE_COMMAND_SOURCES
bin_PROGRAMS += %D%/ferry
%C%_ferry_SOURCES = \
	%D%/cmd_devices.c \
	%D%/cmd_inspect.c \
	%D%/cmd_plugins.c \
	%D%/main.c \
	%D%/output.c \
	%D%/tool.c \
	%D%/tool.h
%C%_ferry_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_ferry_CFLAGS = $(STD_CFLAGS) $(JANSSON_CFLAGS)
%C%_ferry_LDADD = libferryio.la libferry.la $(JANSSON_LIBS)
%C%_ferry_LDFLAGS =
endif

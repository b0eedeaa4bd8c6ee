# SPDX-License-Identifier: BSD-2-Clause
# Programs that run as several ranks; check-mpi.sh starts them.

EXTRA_DIST += %D%/launch.sh

if HAVE_MPI
check_PROGRAMS += %D%/ranks
%C%_ranks_SOURCES = \
	%D%/collective.c \
	%D%/interpose.c \
	%D%/levels.c \
	%D%/main.c \
	%D%/ranks.h
%C%_ranks_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) -DCUDART_MAJOR='"$(CUDA_CUDART_MAJOR)"'
%C%_ranks_CFLAGS = $(STD_CFLAGS) $(MPI_CFLAGS)
check_PROGRAMS += %D%/overlap
ONE_SCRIPTS_RUN += %D%/ranks %D%/overlap
%C%_overlap_SOURCES = %D%/interpose.c %D%/overlap.c %D%/ranks.h
%C%_overlap_CPPFLAGS = $(%C%_ranks_CPPFLAGS)
%C%_overlap_CFLAGS = $(%C%_ranks_CFLAGS)
%C%_overlap_LDADD = libferrynet.la libferryio.la $(%C%_ranks_LDADD)
%C%_ranks_LDADD = libferrympi.la libferry.la $(MPI_LIBS) $(CORE_SYSTEM_LIBS)
endif

# SPDX-License-Identifier: BSD-2-Clause
# Kernels: their sources, the plans that launch them, and all of it compiled for the host.

KERNEL_FRONT = %D%/types.h %D%/args.h %D%/dialect.h %D%/unary_impl.h %D%/step.h %D%/walk.h \
	%D%/pixel.h %D%/sample.h %D%/sum.h %D%/share.h %D%/number.h
KERNEL_TEXTS = \
	%D%/convolution.k \
	%D%/convert.k \
	%D%/direct.k \
	%D%/element.k \
	%D%/gradient.k \
	%D%/image.k \
	%D%/pack.k \
	%D%/pool.k \
	%D%/random.k \
	%D%/row.k \
	%D%/share.k \
	%D%/slide.k \
	%D%/slope.k \
	%D%/spread.k \
	%D%/table.k \
	%D%/tensor.k \
	%D%/update.k \
	%D%/vector.k

# From an operation to launches.
noinst_LTLIBRARIES += %D%/libkernelplans.la
%C%_libkernelplans_la_SOURCES = \
	%D%/args.h \
	%D%/descriptor.h \
	%D%/kinds.h \
	%D%/list.h \
	%D%/parts.h \
	%D%/places.c \
	%D%/places.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/plan_convolution.c \
	%D%/plan_direct.c \
	%D%/plan_element.c \
	%D%/plan_gradient.c \
	%D%/plan_image.c \
	%D%/plan_row.c \
	%D%/plan_slope.c \
	%D%/plan_spread.c \
	%D%/plan_table.c \
	%D%/plan_tensor.c \
	%D%/plan_walk.c \
	%D%/plan_weights.c \
	%D%/plan_window.c \
	%D%/types.h \
	%D%/vector.c \
	%D%/vector.h
%C%_libkernelplans_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir)
%C%_libkernelplans_la_CFLAGS = $(PLUGIN_CFLAGS)

# For a plugin that compiles the sources: the same, the sources, and compiled programs on disk.
noinst_LTLIBRARIES += %D%/libkerneltexts.la
%C%_libkerneltexts_la_SOURCES = \
	%D%/store.c \
	%D%/store.h \
	%D%/texts.c
nodist_%C%_libkerneltexts_la_SOURCES = %D%/texts.h
%C%_libkerneltexts_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) -I$(top_builddir)/%D%
%C%_libkerneltexts_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_libkerneltexts_la_LIBADD = %D%/libkernelplans.la

# The sources as C strings, one per line, and the headers, which a program includes once at its
# beginning; without #include lines.
BUILT_SOURCES += %D%/texts.h
CLEANFILES += %D%/texts.h
$(%C%_libkerneltexts_la_OBJECTS): %D%/texts.h
%D%/texts.h: $(KERNEL_FRONT) $(KERNEL_TEXTS) %D%/local.mk
	@$(MKDIR_P) %D%
	$(AM_V_GEN){ echo 'static const char *const text_front[] = {'; \
	    for part in $(KERNEL_FRONT) $(KERNEL_TEXTS); do \
	        case $$part in \
	        *.k) printf '};\nstatic const char *const text_%s[] = {\n' `basename $$part .k` ;; \
	        esac; \
	        $(SED) -e '/^#include "/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' \
	            $(srcdir)/$$part || exit 1; \
	    done; \
	    echo '};'; } >$@.new && mv $@.new $@

# The sources compiled by the host's compiler.
noinst_LTLIBRARIES += %D%/libkernelhost.la
%C%_libkernelhost_la_SOURCES = \
	%D%/all.h \
	$(KERNEL_FRONT) \
	$(KERNEL_TEXTS) \
	%D%/host.c \
	%D%/host.h
%C%_libkernelhost_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir)
%C%_libkernelhost_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_libkernelhost_la_LIBADD = %D%/libkernelplans.la

# A checksum of what a compiled program and the plans have to agree on, as a number in a header.
KERNEL_AGREED = $(KERNEL_FRONT) $(KERNEL_TEXTS) %D%/all.h %D%/list.h
BUILT_SOURCES += %D%/fingerprint.h
CLEANFILES += %D%/fingerprint.h
$(libferrykernels_la_OBJECTS): %D%/fingerprint.h
%D%/fingerprint.h: $(KERNEL_AGREED) %D%/local.mk
	@$(MKDIR_P) %D%
	$(AM_V_GEN)sum=`for part in $(KERNEL_AGREED); do cat $(srcdir)/$$part || exit 1; done | cksum` && \
	    set -- $$sum && { echo '/* SPDX-License-Identifier: BSD-2-Clause */'; \
	    echo '/* Generated: the value of ferry_kernels_fingerprint() for these texts. */'; \
	    echo "#define FERRY_KERNELS_FINGERPRINT $${1}u"; } >$@.new && mv $@.new $@

# The same for plugins by others, with the sources, and the headers that compile them for the host.
lib_LTLIBRARIES += libferrykernels.la
pkgconfig_DATA += ferrykernels.pc
libferrykernels_la_SOURCES = %D%/library.c
libferrykernels_la_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) -I$(top_builddir)/%D%
libferrykernels_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden
libferrykernels_la_LIBADD = %D%/libkerneltexts.la
libferrykernels_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS) $(VERSION_FLAGS)
EXTRA_libferrykernels_la_DEPENDENCIES = $(VERSION_MAP)
kernelsdir = $(pkgdatadir)/kernels
kernels_DATA = $(KERNEL_AGREED)
nodist_kernels_DATA = %D%/fingerprint.h

EXTRA_DIST += %D%/README.md

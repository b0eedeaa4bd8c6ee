# SPDX-License-Identifier: BSD-2-Clause
# Manual pages. Those of section 1 are made of the commands' table and of the texts beside them (.man).

COMMAND_PAGES = \
	%D%/ferry-bench.1 \
	%D%/ferry-check.1 \
	%D%/ferry-complete.1 \
	%D%/ferry-convert.1 \
	%D%/ferry-dataset.1 \
	%D%/ferry-devices.1 \
	%D%/ferry-diff.1 \
	%D%/ferry-draw.1 \
	%D%/ferry-export.1 \
	%D%/ferry-inspect.1 \
	%D%/ferry-layers.1 \
	%D%/ferry-merge.1 \
	%D%/ferry-new-plugin.1 \
	%D%/ferry-plot.1 \
	%D%/ferry-plugins.1 \
	%D%/ferry-quantize.1 \
	%D%/ferry-rename.1 \
	%D%/ferry-run.1 \
	%D%/ferry-split.1 \
	%D%/ferry-test.1 \
	%D%/ferry-time.1 \
	%D%/ferry-trace.1 \
	%D%/ferry-train.1 \
	%D%/ferry-triton-model.1 \
	%D%/ferry-upgrade.1
COMMAND_TEXTS = $(COMMAND_PAGES:.1=.man)

dist_man_MANS += \
	$(COMMAND_PAGES) \
	%D%/ferry-plugin.7 \
	%D%/ferry.1 \
	%D%/ferry.3 \
	%D%/ferryio.3 \
	%D%/ferrykernels.3 \
	%D%/ferrynet.3 \
	%D%/ferryop.3 \
	%D%/ferrysolver.3 \
	%D%/plugins.conf.5

# In the package, so that an installation needs no awk; a change of the sources makes them anew.
MAN_FROM = %D%/pages.awk tools/ferry/commands.c
$(COMMAND_PAGES): $(MAN_FROM) $(COMMAND_TEXTS)
	$(AM_V_GEN)$(MKDIR_P) %D%; page=`echo '$@' | $(SED) 's,.*/ferry-,,; s,\.1$$,,'`; \
	$(AWK) -v page="$$page" -v version='$(VERSION)' -f '$(srcdir)/%D%/pages.awk' \
	    '$(srcdir)/tools/ferry/commands.c' "$(srcdir)/%D%/ferry-$$page.man" >$@-new && mv -f $@-new $@
%D%/ferry.1: $(MAN_FROM) %D%/ferry.1.in
	$(AM_V_GEN)$(MKDIR_P) %D%; $(AWK) -v page= -v version='$(VERSION)' -f '$(srcdir)/%D%/pages.awk' \
	    '$(srcdir)/tools/ferry/commands.c' '$(srcdir)/%D%/ferry.1.in' >$@-new && mv -f $@-new $@
MAINTAINERCLEANFILES += $(COMMAND_PAGES) %D%/ferry.1

EXTRA_DIST += %D%/pages.awk %D%/ferry.1.in $(COMMAND_TEXTS)

# SPDX-License-Identifier: BSD-2-Clause
# The ferry command.

if HAVE_COMMAND_SOURCES
bin_PROGRAMS += %D%/ferry
%C%_ferry_SOURCES = \
	bench/bench-blob.c \
	bench/bench-device.c \
	bench/bench-start.c \
	bench/bench.h \
	bench/measure.c \
	bench/measure.h \
	bench/plain.c \
	bench/plain.h \
	bench/row.c \
	common/affine.h \
	%D%/cmd_bench.c \
	%D%/cmd_check.c \
	%D%/cmd_complete.c \
	%D%/cmd_convert.c \
	%D%/convert_model.c \
	%D%/convert_model.h \
	%D%/cmd_dataset.c \
	%D%/cmd_devices.c \
	%D%/cmd_diff.c \
	%D%/cmd_draw.c \
	%D%/cmd_export.c \
	%D%/cmd_inspect.c \
	%D%/cmd_layers.c \
	%D%/cmd_merge.c \
	%D%/cmd_new_plugin.c \
	%D%/cmd_plot.c \
	%D%/cmd_plugins.c \
	%D%/cmd_quantize.c \
	%D%/cmd_rename.c \
	%D%/cmd_run.c \
	%D%/cmd_split.c \
	%D%/cmd_test.c \
	%D%/cmd_time.c \
	%D%/streams.c \
	%D%/streams.h \
	%D%/work.c \
	%D%/work.h \
	%D%/cmd_trace.c \
	%D%/cmd_train.c \
	%D%/cmd_triton_model.c \
	%D%/cmd_upgrade.c \
	%D%/commands.c \
	%D%/dataset.h \
	%D%/dataset_leveldb.c \
	%D%/dataset_lmdb.c \
	%D%/dataset_mean.c \
	%D%/dataset_png.c \
	%D%/dataset_source.c \
	%D%/dataset_store.h \
	%D%/dataset_write.c \
	%D%/diff.h \
	%D%/diff_measure.c \
	%D%/export_check.c \
	%D%/export_check.h \
	%D%/files.c \
	%D%/files.h \
	%D%/given.c \
	%D%/given.h \
	%D%/input.c \
	%D%/input.h \
	%D%/inspect.h \
	%D%/inspect_measure.c \
	%D%/inspect_print.c \
	%D%/layer_samples.c \
	%D%/layer_samples.h \
	%D%/lines.c \
	%D%/lines.h \
	%D%/main.c \
	%D%/merge.h \
	%D%/merge_plan.c \
	%D%/merge_sum.c \
	%D%/merge_weights.c \
	%D%/net.c \
	%D%/net.h \
	%D%/output.c \
	%D%/paths.c \
	%D%/paths.h \
	%D%/pictures.c \
	%D%/pictures.h \
	%D%/plot.h \
	%D%/plot_read.c \
	%D%/plot_svg.c \
	%D%/progress.c \
	%D%/progress.h \
	%D%/quantize.h \
	%D%/quantize_adapt.c \
	%D%/quantize_adapt.h \
	%D%/quantize_adapt_choose.c \
	%D%/quantize_adapt_sums.c \
	%D%/quantize_bias.c \
	%D%/quantize_equalize.c \
	%D%/quantize_feed.c \
	%D%/quantize_loss.c \
	%D%/quantize_measure.c \
	%D%/quantize_range.c \
	%D%/quantize_show.c \
	%D%/quantize_table.c \
	%D%/quantize_weights.c \
	%D%/ranks.c \
	%D%/ranks.h \
	%D%/run.h \
	%D%/run_files.c \
	%D%/run_show.c \
	%D%/run_write.c \
	%D%/sha256.c \
	%D%/sha256.h \
	%D%/shards.c \
	%D%/shards.h \
	%D%/target.c \
	%D%/target.h \
	%D%/text.c \
	%D%/tool.c \
	%D%/tool.h \
	%D%/train.h \
	%D%/train_lines.c \
	%D%/train_log.c \
	%D%/transfer.c \
	%D%/transfer.h \
	%D%/upgrade.h \
	%D%/upgrade_edit.c \
	%D%/upgrade_fold.c \
	%D%/whole.c \
	%D%/whole.h \
	triton/describe.c \
	triton/describe.h \
	triton/server.h
%C%_ferry_CPPFLAGS = -iquote $(top_srcdir) $(PUBLIC_CPPFLAGS) -iquote $(top_srcdir)/tests/conform \
	-iquote $(top_srcdir)/bench $(NET_CPPFLAGS_LIBS) -DFERRY_TEMPLATEDIR='"$(RUN_TEMPLATEDIR)"'
%C%_ferry_CFLAGS = $(STD_CFLAGS) $(JANSSON_CFLAGS) $(PNG_CFLAGS) $(LMDB_CFLAGS)
%C%_ferry_LDADD = tests/conform/libferryconform.la libferrynet.la libferryio.la libferry.la $(JANSSON_LIBS) $(PNG_LIBS) $(LMDB_LIBS) $(LEVELDB_LIBS) $(CORE_SYSTEM_LIBS) -lm
%C%_ferry_LDFLAGS =

# The same objects for tests, which start the command two thousand times: libtool's wrapper of an uninstalled program is a
# shell script, and takes as long as the command's start.
RUN_COMMAND = tests/unit/ferry-command
check_PROGRAMS += $(RUN_COMMAND)
tests_unit_ferry_command_SOURCES =
tests_unit_ferry_command_LDADD = $(%C%_ferry_OBJECTS) $(%C%_ferry_LDADD)
tests_unit_ferry_command_DEPENDENCIES = $(%C%_ferry_OBJECTS) $(%C%_ferry_DEPENDENCIES)

# The folders in which the shells look for a command's completion.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = tools/completion/bash/ferry
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = tools/completion/zsh/_ferry
endif

EXTRA_DIST += %D%/README.md

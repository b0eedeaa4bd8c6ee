# SPDX-License-Identifier: BSD-2-Clause
# Runs the stored corpus of the fuzzers through the readers. run.sh runs the fuzzers.

FUZZ_TESTS = %D%/replay-conf %D%/replay-env %D%/replay-image %D%/replay-io %D%/replay-net %D%/replay-netproto %D%/replay-note \
	%D%/replay-onnx %D%/replay-prototxt
check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)

%C%_replay_conf_SOURCES = %D%/fuzz-conf.c %D%/fuzz.h %D%/replay.c
%C%_replay_conf_LDADD = core/libferrycore.la
%C%_replay_env_SOURCES = %D%/fuzz-env.c %D%/fuzz.h %D%/replay.c
%C%_replay_env_LDADD = core/libferrycore.la -lm
%C%_replay_image_SOURCES = %D%/fuzz-image.c %D%/fuzz.h %D%/replay.c
%C%_replay_image_LDADD = $(NET_ROOMS) io/libferryioobjs.la core/libferrycore.la
%C%_replay_io_SOURCES = %D%/fuzz-io.c %D%/fuzz.h %D%/replay.c
%C%_replay_io_LDADD = io/libferryioobjs.la core/libferrycore.la
%C%_replay_net_SOURCES = %D%/fuzz-net.c %D%/fuzz.h %D%/replay.c
%C%_replay_net_LDADD = $(NET_ROOMS) io/libferryioobjs.la core/libferrycore.la -lm
%C%_replay_netproto_SOURCES = %D%/fuzz-netproto.c %D%/fuzz.h %D%/replay.c
%C%_replay_netproto_LDADD = $(NET_ROOMS) core/libferrycore.la
%C%_replay_note_SOURCES = %D%/fuzz-note.c %D%/fuzz.h %D%/replay.c
%C%_replay_note_LDADD = core/libferrycore.la
%C%_replay_onnx_SOURCES = %D%/fuzz-onnx.c %D%/fuzz.h %D%/replay.c
%C%_replay_onnx_LDADD = $(NET_ROOMS) io/libferryioobjs.la core/libferrycore.la -lm
%C%_replay_prototxt_SOURCES = %D%/fuzz-prototxt.c %D%/fuzz.h %D%/replay.c
%C%_replay_prototxt_LDADD = $(NET_ROOMS) core/libferrycore.la

EXTRA_DIST += %D%/run.sh %D%/prototxt.dict %D%/corpus

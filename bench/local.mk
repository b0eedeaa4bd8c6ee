# SPDX-License-Identifier: BSD-2-Clause
# Measurements, never part of `make check`. `make bench` builds what it needs and runs it;
# BENCH_FLAGS=--json writes rows as JSON, one document for each program, and BENCH_FLAGS=NAME runs one
# suite. `ferry bench` shares the measuring and printing (tools/ferry/local.mk).

BENCHES =

if BUILD_CPU
BENCHES += %D%/ferry-bench %D%/ferry-bench-core %D%/ferry-bench-conv %D%/ferry-bench-net \
	%D%/ferry-bench-peers

BENCH_CHILDREN = %D%/child-ferry %D%/child-net %D%/child-openblas
EXTRA_PROGRAMS += $(BENCH_CHILDREN)

BENCH_HARNESS = \
	%D%/bench.h \
	%D%/main.c \
	%D%/measure.c \
	%D%/measure.h \
	%D%/row.c \
	%D%/run-child.c

%C%_ferry_bench_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-blob.c \
	%D%/bench-coherence.c \
	%D%/bench-io.c \
	%D%/bench-math.c \
	%D%/bench-process.c \
	%D%/bench-small.c \
	%D%/bench-transfers.c \
	%D%/plain.c \
	%D%/plain.h \
	%D%/suites.c
%C%_ferry_bench_CPPFLAGS = $(PUBLIC_CPPFLAGS) \
	-DFERRY_COMMAND='"$(abs_top_builddir)/tools/ferry/ferry"'
%C%_ferry_bench_CFLAGS = $(STD_CFLAGS) $(OPENBLAS_CFLAGS)
%C%_ferry_bench_LDADD = libferryio.la libferry.la \
	$(OPENBLAS_LIBS) $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_LDFLAGS = -no-install

# oneDNN is a reference here; the rest of ferry does not use it.
%C%_ferry_bench_conv_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-conv.c \
	%D%/bench-op.c \
	%D%/conv.c \
	%D%/conv-device.c \
	%D%/conv-ferry.c \
	%D%/conv-onednn.c \
	%D%/conv-openblas.c \
	%D%/conv.h \
	%D%/suites-conv.c
%C%_ferry_bench_conv_CPPFLAGS = $(PUBLIC_CPPFLAGS) $(DNNL_CPPFLAGS)
%C%_ferry_bench_conv_CFLAGS = $(STD_CFLAGS) $(OPENBLAS_CFLAGS)
%C%_ferry_bench_conv_LDADD = libferrynet.la libferry.la $(OPENBLAS_LIBS) $(DNNL_LIBS) $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_conv_LDFLAGS = -no-install

%C%_ferry_bench_net_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-data.c \
	%D%/bench-net.c \
	%D%/bench-train.c \
	%D%/conv-openblas.c \
	%D%/conv.h \
	%D%/nets.c \
	%D%/nets.h \
	%D%/suites-net.c \
	%D%/train-openblas.c \
	%D%/train.h
%C%_ferry_bench_net_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_ferry_bench_net_CFLAGS = $(STD_CFLAGS) $(OPENBLAS_CFLAGS)
%C%_ferry_bench_net_LDADD = libferrynet.la libferry.la $(OPENBLAS_LIBS) $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_net_LDFLAGS = -no-install

%C%_ferry_bench_peers_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-narrow.c \
	%D%/bench-first.c \
	%D%/bench-training.c \
	%D%/conv.h \
	%D%/nets.c \
	%D%/nets.h \
	%D%/peer.c \
	%D%/peer.h \
	%D%/suites-peers.c
%C%_ferry_bench_peers_CPPFLAGS = $(PUBLIC_CPPFLAGS) \
	-DBENCH_SOURCE='"$(abs_top_srcdir)/bench"' \
	-DBENCH_FERRY='"$(abs_top_builddir)/tools/ferry/ferry"'
%C%_ferry_bench_peers_LDADD = libferry.la $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_peers_LDFLAGS = -no-install

%C%_ferry_bench_core_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-pool.c \
	%D%/suites-core.c
%C%_ferry_bench_core_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir)
%C%_ferry_bench_core_CFLAGS = $(STD_CFLAGS)
%C%_ferry_bench_core_LDADD = core/libferrycore.la
%C%_ferry_bench_core_LDFLAGS = -no-install

if BUILD_CUDA
BENCHES += %D%/ferry-bench-cuda

%C%_ferry_bench_cuda_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-cuda-kernels.c \
	%D%/bench-cuda.c \
	%D%/conv-device.c \
	%D%/conv.c \
	%D%/conv.h \
	%D%/suites-cuda.c
%C%_ferry_bench_cuda_CPPFLAGS = $(PUBLIC_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_ferry_bench_cuda_CFLAGS = $(STD_CFLAGS)
%C%_ferry_bench_cuda_LDADD = libferrynet.la libferry.la -lcudart $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_cuda_LDFLAGS = -no-install $(CUDA_LDFLAGS)

# Nets for `ferry time` on a machine with a GPU.
BENCH_CHILDREN += %D%/write-net
%C%_write_net_SOURCES = %D%/nets.c %D%/nets.h %D%/conv.h %D%/write-net.c
%C%_write_net_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_write_net_CFLAGS = $(STD_CFLAGS)
%C%_write_net_LDADD =
%C%_write_net_LDFLAGS = -no-install
endif

if BUILD_OPENCL
BENCHES += %D%/ferry-bench-opencl
BENCH_CHILDREN += %D%/child-opencl

%C%_ferry_bench_opencl_SOURCES = \
	$(BENCH_HARNESS) \
	%D%/bench-opencl.c \
	%D%/bench-opencl-conv.c \
	%D%/conv.c \
	%D%/conv.h \
	%D%/conv-device.c \
	%D%/suites-opencl.c
%C%_ferry_bench_opencl_CPPFLAGS = $(PUBLIC_CPPFLAGS) $(OPENCL_CFLAGS) $(CLBLAST_CFLAGS)
%C%_ferry_bench_opencl_CFLAGS = $(STD_CFLAGS)
%C%_ferry_bench_opencl_LDADD = libferrynet.la libferry.la $(CLBLAST_LIBS) $(OPENCL_LIBS)
%C%_ferry_bench_opencl_LDFLAGS = -no-install

%C%_child_opencl_SOURCES = %D%/child-opencl.c
%C%_child_opencl_CPPFLAGS = $(PUBLIC_CPPFLAGS) $(OPENCL_CFLAGS)
%C%_child_opencl_CFLAGS = $(STD_CFLAGS)
%C%_child_opencl_LDADD = libferry.la $(OPENCL_LIBS)
%C%_child_opencl_LDFLAGS = -no-install
endif

%C%_child_ferry_SOURCES = %D%/child-ferry.c
%C%_child_ferry_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_child_ferry_CFLAGS = $(STD_CFLAGS)
%C%_child_ferry_LDADD = libferry.la
%C%_child_ferry_LDFLAGS = -no-install

%C%_child_net_SOURCES = %D%/child-net.c
%C%_child_net_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_child_net_LDADD = libferrynet.la libferryio.la libferry.la
%C%_child_net_LDFLAGS = -no-install

%C%_child_openblas_SOURCES = %D%/child-openblas.c
%C%_child_openblas_CPPFLAGS =
%C%_child_openblas_CFLAGS = $(STD_CFLAGS)
%C%_child_openblas_LDADD = $(CORE_SYSTEM_LIBS)
%C%_child_openblas_LDFLAGS =

# A folder with ten plugins under different names, and a folder with one of them.
BENCH_PLUGINS = %D%/plugins.stamp
$(BENCH_PLUGINS): tests/plugins/fake.c
	@rm -rf %D%/plugins; $(MKDIR_P) %D%/plugins/ten %D%/plugins/one
	$(AM_V_GEN)for n in 0 1 2 3 4 5 6 7 8 9; do \
	    $(CC) $(OPT_CFLAGS) $(CFLAGS) $(LDFLAGS) -std=c11 -fPIC -shared -fvisibility=hidden \
	        -DFAKE_NAME="\"ten_$$n\"" -I'$(top_srcdir)/include' \
	        '$(top_srcdir)/tests/plugins/fake.c' -o %D%/plugins/ten/ferry_ten_$$n.so || exit 1; \
	done
	@cp %D%/plugins/ten/ferry_ten_5.so %D%/plugins/one/
	@: >$@
endif

EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES) $(BENCH_CHILDREN)

clean-local: clean-bench-plugins
clean-bench-plugins:
	rm -rf %D%/plugins $(BENCH_PLUGINS)

bench-programs: $(BENCHES) $(BENCH_CHILDREN)
bench: all bench-programs $(BENCH_PLUGINS)
	@$(RUN_ENV); set -e; for program in $(BENCHES); do ./$$program $(BENCH_FLAGS); done

.PHONY: bench bench-programs clean-bench-plugins

EXTRA_DIST += %D%/README.md %D%/beside-others.py %D%/mca.py %D%/peer-accuracy.py %D%/peer-quantize.py \
	%D%/layers.py %D%/peer-runtime.py %D%/peer-torch.py %D%/peers.sh %D%/segments.py

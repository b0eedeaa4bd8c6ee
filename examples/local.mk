# SPDX-License-Identifier: BSD-2-Clause
# Programs to read. `make demo` runs them on each backend, then sends real arrays through the
# command. A new one takes its name in EXAMPLES and its three lines below (NAME for its file):
#
#     %C%_NAME_CPPFLAGS = $(PUBLIC_CPPFLAGS)
#     %C%_NAME_LDADD = libferry.la
#     %C%_NAME_LDFLAGS =

EXAMPLES =
noinst_PROGRAMS += $(EXAMPLES)

# Files of arrays that the demo inspects on each backend.
DEMO_FILES =
DEMO_BACKENDS = cpu sim

demo: all
	@$(RUN_ENV); set -e; for backend in $(DEMO_BACKENDS); do \
	    FERRY_BACKEND="$$backend"; export FERRY_BACKEND; \
	    for program in $(EXAMPLES); do \
	        echo; echo "== FERRY_BACKEND=$$backend $$program"; ./$$program; \
	    done; \
	    for file in $(DEMO_FILES); do \
	        echo; echo "== FERRY_BACKEND=$$backend ferry inspect $$file"; \
	        tools/ferry/ferry inspect "$$file"; \
	    done; \
	done

.PHONY: demo

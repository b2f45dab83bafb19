/* trace.h - the name by which a caller follows its request through other programs: the value of a
 * traceparent header (W3C Trace Context, level 1), as in
 * 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. It is handed on as it came, and nothing
 * is recorded under it here. Pure; any thread.
 */
#ifndef ALD_BASE_TRACE_H
#define ALD_BASE_TRACE_H

#include <stdbool.h>

#include "common/base/span.h"

enum { ALD_TRACE_LEN = 55 };

/* Is it one, of version 00? Whoever gets another is to go on as if there were none. */
bool ald_trace_ok(struct ald_span text);

#endif

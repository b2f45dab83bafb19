/* metrics_list.h - how metrics.c has its metrics of one name written. Not for others. */
#ifndef ALD_BASE_METRICS_LIST_H
#define ALD_BASE_METRICS_LIST_H

#include "common/base/buf.h"
#include "common/base/metrics.h"

/* Append HELP, TYPE and all series of first's name. The caller keeps the series as they are during
 * the call; their numbers may change. */
void metrics_write_name(struct ald_buf *out, const struct ald_metric *first);

#endif

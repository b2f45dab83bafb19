/* metrics_merge.h - the metrics of several daemons as one page, each sample labelled with svc and
 * instance, and the samples of a name together, as the text format demands. Pure.
 */
#ifndef ALD_GATEWAY_METRICS_MERGE_H
#define ALD_GATEWAY_METRICS_MERGE_H

#include "common/base/buf.h"

typedef struct metrics_merge metrics_merge_t;

metrics_merge_t *metrics_merge_new(void);
void metrics_merge_destroy(metrics_merge_t **self_p);

/* Add a page. svc and instance are plain words. Lines that are no metrics are left out. */
void metrics_merge_add(metrics_merge_t *self, const char *svc, const char *instance,
                       struct ald_span page);

void metrics_merge_write(const metrics_merge_t *self, struct ald_buf *out);

#endif

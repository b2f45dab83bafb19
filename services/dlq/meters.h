/* meters.h - the dlq's numbers for the metrics page. Any thread. */
#ifndef ALD_DLQ_METERS_H
#define ALD_DLQ_METERS_H

#include "proto/words.h"
#include "services/dlq/tally.h"

/* Show them; before anything else here. */
void meters_open(void);

/* A letter came in; what was said of it. */
void meters_received(enum ald_disposition disposition);
/* An attempt was answered. result: a disposition; another word counts as "other". */
void meters_reinjected(enum ald_reason reason, const char *result);
/* A frame was dropped because it could not be read. */
void meters_garbage(void);
/* Letters without proof that the quota closed. */
void meters_over_quota(uint64_t count);
/* Bring the gauges up to date. */
void meters_measure(const struct tally *tally, int64_t oldest_age_ms);

#endif

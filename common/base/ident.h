/* ident.h - names for things: task ids, and ULIDs for everything else. */
#ifndef ALD_BASE_IDENT_H
#define ALD_BASE_IDENT_H

#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_ULID_SIZE = 27, ALD_TASK_ID_TEXT = 21, ALD_TRACKERS = 32 };

/* A new ULID: 26 characters (48 bits of ms, 80 of chance), sorted by time, and rising within one
 * process also inside a millisecond. Any thread. */
void ald_ulid_new(char out[ALD_ULID_SIZE]);

/* Task ids are below 2^53: n = max(ms since 2026 * 128, last) + 1, id = n * 32 + tracker. They rise
 * whatever the clock does, and two trackers never make the same. One owner. */
struct ald_idgen {
    uint64_t last_n;
    unsigned tracker; /* below ALD_TRACKERS */
};

uint64_t ald_idgen_next(struct ald_idgen *self, int64_t wall_ms);
/* No id from now on may be at or below id. */
void ald_idgen_above(struct ald_idgen *self, uint64_t id);

void ald_task_id_text(uint64_t id, char out[ALD_TASK_ID_TEXT]);
/* ALD_MALFORMED: not the decimal text of an id (1 ... 2^53 - 1, no leading zero). */
ALD_NODISCARD enum ald_rc ald_task_id_parse(struct ald_span text, uint64_t *out);
/* When it was made, about. */
int64_t ald_task_id_wall_ms(uint64_t id);

#endif

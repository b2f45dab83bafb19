/* intake.h - letters as they come in: checked, kept, acknowledged by number.
 *
 * A letter that can't be kept is refused by itself and never holds up the batch it came in.
 * Works inside the transaction of its caller, who sends the acknowledgements after the commit.
 * Threads: the shelf's.
 */
#ifndef ALD_DLQ_INTAKE_H
#define ALD_DLQ_INTAKE_H

#include "services/dlq/shelf.h"

enum { INTAKE_ITEMS = 1024 }; /* of a batch; what is above is not answered, so it comes again */

struct intake {
    shelf_t *shelf;
    const struct letter_plan *plan;
    uint64_t max_item_bytes;
    const char *sender; /* of the batch */
    uint64_t floor; /* the same: what is below it is settled at the sender; 0 = it does not say */
    int64_t now_ms;
};

/* Keep one item of a batch.
 * ALD_OK: *ack says what became of it (applied: kept; duplicate: known, also when it was closed
 * since; refused; busy: a closing whose letter may be still to come); ack->num is 0 when the item
 * does not even name its number.
 * ALD_FULL, ALD_IO, ...: the transaction has failed. */
ALD_NODISCARD enum ald_rc intake_take(const struct intake *self, struct ald_span item,
                                      struct msg_ack *ack);

/* Fill only the number of ack from an item that may not decode as a whole. ALD_OK, or as
 * ald_wire_decode. */
ALD_NODISCARD enum ald_rc intake_number(struct ald_span item, struct msg_ack *ack);

/* True for the 26 characters of a ULID. */
bool intake_id_ok(const char *id);

#endif

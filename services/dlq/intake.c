#include "services/dlq/intake.h"

#include <string.h>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"

/* The number of a letter that does not decode as a whole: unknown keys are skipped. */
static const struct ald_field intake_number_fields[] = {
    {.key = "num",
     .key_len = sizeof "num" - 1,
     .kind = ALD_FIELD_U64,
     .offset = offsetof(struct msg_ack, num),
     .required = true},
};

enum ald_rc intake_number(struct ald_span item, struct msg_ack *ack)
{
    const struct ald_schema *of = ald_wire_is(&MSG_CLOSING, item) ? &MSG_CLOSING : &MSG_LETTER;
    const struct ald_schema schema = {.kind = of->kind,
                                      .version = of->version,
                                      .size = sizeof *ack,
                                      .fields = intake_number_fields,
                                      .count = ALD_COUNT(intake_number_fields)};
    return ald_wire_decode(&schema, ack, item);
}

bool intake_id_ok(const char *id)
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    return strlen(id) == ALD_ULID_MAX - 1 && strspn(id, alphabet) == ALD_ULID_MAX - 1 &&
           id[0] <= '7';
}

static void intake_say(struct msg_ack *ack, enum ald_disposition disposition, const char *reason)
{
    ald_text_cut(ack->disposition, sizeof ack->disposition,
                 ald_span_str(ald_disposition_name(disposition)));
    ald_text_cut(ack->reason, sizeof ack->reason, ald_span_str(reason));
}

static void intake_row(const struct intake *self, const struct msg_letter *letter,
                       struct shelf_row *row)
{
    uint64_t random = 0;
    ald_random(&random, sizeof random);
    memcpy(row->id, letter->letter, sizeof row->id);
    memcpy(row->cause, letter->cause, sizeof row->cause);
    memcpy(row->provider, letter->provider, sizeof row->provider);
    memcpy(row->provider_id, letter->provider_id, sizeof row->provider_id);
    memcpy(row->consumer, letter->consumer, sizeof row->consumer);
    enum ald_proof proof;
    if (!ald_proof_find(letter->proof, &proof))
        proof = ALD_PROOF_NONE;
    ald_text_cut(row->proof, sizeof row->proof, ald_span_str(ald_proof_name(proof)));
    row->stranger = letter_unproven(row->letter.reason, proof);
    row->task = letter->task;
    row->made_at_ms = letter->made_at_ms;
    row->bytes = letter->original.len;
    row->letter.empty = letter->original.len == 0;
    letter_open(&row->letter, self->plan, self->now_ms, random);
    row->stored = row->letter.state;
}

/* Insert under a savepoint, so that what the store takes offence at is undone alone. */
static enum ald_rc intake_keep(const struct intake *self, const struct msg_letter *letter,
                               const struct shelf_row *row)
{
    ald_store_t *store = shelf_store(self->shelf);
    enum ald_rc rc = ald_store_savepoint(store);
    if (rc != ALD_OK)
        return rc;
    rc = shelf_insert(self->shelf, row, self->sender, letter->num, letter->original);
    if (rc == ALD_OK)
        return ald_store_release(store);
    if (rc != ALD_EXISTS && rc != ALD_TOOBIG && rc != ALD_INVALID)
        return rc;
    enum ald_rc undone = ald_store_rollback_to(store);
    return undone == ALD_OK ? rc : undone;
}

/* An attempt that is under way has lost its object: whatever its answer will be, nobody waits for
 * it. */
static enum ald_rc intake_end_attempt(const struct intake *self, struct shelf_row *row)
{
    const struct shelf_attempt end = {.attempt = row->letter.attempts,
                                      .outcome = row->outcome,
                                      .detail = "closed by the tracker"};
    if (row->sending == 0)
        return ALD_OK;
    row->sending = 0;
    return shelf_attempt_end(self->shelf, row->id, &end);
}

/* The tracker closed a letter by itself: its answer came. One that is not here may be still to
 * come, as batches may pass each other; when all before its closing is settled, it was closed, and
 * purged, before. */
static enum ald_rc intake_close(const struct intake *self, struct ald_span item,
                                struct msg_ack *ack)
{
    struct msg_closing closing;
    struct shelf_row row;
    enum ald_rc rc = ald_wire_decode(&MSG_CLOSING, &closing, item);
    if (rc != ALD_OK) {
        if (intake_number(item, ack) != ALD_OK)
            ack->num = 0;
        intake_say(ack, ALD_DISP_REFUSED, ald_rc_name(rc));
        return ALD_OK;
    }
    ack->num = closing.num;
    intake_say(ack, ALD_DISP_APPLIED, "");
    rc = browse_find(self->shelf, closing.letter, &row);
    if (rc == ALD_NOTFOUND && self->floor != 0 && self->floor < closing.num)
        intake_say(ack, ALD_DISP_BUSY, "");
    if (rc == ALD_NOTFOUND)
        return ALD_OK;
    bool dropped = strcmp(closing.state, ald_disposition_name(ALD_DISP_DROPPED)) == 0;
    if (rc != ALD_OK || !letter_told(&row.letter, dropped, self->now_ms))
        return rc;
    row.by[0] = '\0'; /* nobody did */
    ald_text_cut(row.outcome, sizeof row.outcome,
                 ald_span_str(ald_disposition_name(dropped ? ALD_DISP_DROPPED : ALD_DISP_APPLIED)));
    rc = intake_end_attempt(self, &row);
    return rc == ALD_OK ? shelf_update(self->shelf, &row) : rc;
}

enum ald_rc intake_take(const struct intake *self, struct ald_span item, struct msg_ack *ack)
{
    struct msg_letter letter;
    struct shelf_row row = {0};
    *ack = (struct msg_ack){0};
    if (ald_wire_is(&MSG_CLOSING, item))
        return intake_close(self, item, ack);
    enum ald_rc rc = ald_wire_decode(&MSG_LETTER, &letter, item);
    if (rc != ALD_OK) {
        if (intake_number(item, ack) != ALD_OK)
            ack->num = 0;
        intake_say(ack, ALD_DISP_REFUSED, ald_rc_name(rc));
        return ALD_OK;
    }
    ack->num = letter.num;
    if (!intake_id_ok(letter.letter) || !ald_reason_find(letter.reason, &row.letter.reason) ||
        row.letter.reason == ALD_REASON_NONE) {
        intake_say(ack, ALD_DISP_REFUSED, "invalid");
        return ALD_OK;
    }
    if (item.len > self->max_item_bytes) {
        intake_say(ack, ALD_DISP_REFUSED, "oversized");
        return ALD_OK;
    }
    intake_row(self, &letter, &row);
    rc = intake_keep(self, &letter, &row);
    if (rc == ALD_OK)
        intake_say(ack, ALD_DISP_APPLIED, "");
    else if (rc == ALD_EXISTS)
        intake_say(ack, ALD_DISP_DUPLICATE, "");
    else if (rc == ALD_TOOBIG || rc == ALD_INVALID)
        intake_say(ack, ALD_DISP_REFUSED, ald_rc_name(rc));
    else
        return rc;
    return ALD_OK;
}

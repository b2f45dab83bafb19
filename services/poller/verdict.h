/* verdict.h - what one poll says about its task: a profile and an HTTP answer in, an outcome out.
 *
 * Pure: no sockets, no clock. Only a whole answer is judged; half of one, one that is too big and
 * none at all say nothing about the task and are never an end. Whether the request left is told, so
 * that the tracker does not count polls that nobody saw. One thread a room.
 */
#ifndef ALD_POLLER_VERDICT_H
#define ALD_POLLER_VERDICT_H

#include "common/base/buf.h"
#include "common/config/batch.h"
#include "proto/messages.h"
#include "services/poller/fetch.h"

enum { VERDICT_EVIDENCE_MAX = 256 };

/* What an answer answers, and where an outcome's spans live until the next one is made. */
struct verdict_room {
    enum ald_stage stage;         /* SUBMIT, POLL or FETCH; verdict_room_init sets POLL */
    char poll_url[ALD_URL_MAX];   /* where to poll, as the last answer says; "" = it does not */
    char result_url[ALD_URL_MAX]; /* where its result is; "" = nowhere */
    bool alert;                   /* it has a code that somebody should hear of */
    struct ald_buf scratch;
    struct ald_buf joined; /* the parts of batch */
    struct ald_batch_answer batch;
    uint8_t evidence[VERDICT_EVIDENCE_MAX];
};

void verdict_room_init(struct verdict_room *room);
void verdict_room_free(struct verdict_room *room);

/* Fill all that the answer decides: left, answered, then, class, scope, block, code, wait, grace,
 * result, http, error, evidence, took, detail, poll_url, result_url, and of a submission the
 * provider's id. num, lease, task, provider and at_ms stay as they are. The spans are borrowed from
 * room or the answer. The profile's secrets are blotted out of evidence and code; the result is the
 * provider's, byte for byte. */
void verdict_make(const struct ald_profile *profile, const struct fetch_answer *answer,
                  struct verdict_room *room, struct msg_outcome *out);

/* An answer for count tasks at once: read it, then make the outcome of each by its place. What says
 * nothing about a task, and what can't be told apart, is unknown and never an end. */
void verdict_read_batch(const struct ald_profile *profile, const struct fetch_answer *answer,
                        struct verdict_room *room, size_t count);
void verdict_make_part(const struct ald_profile *profile, const struct fetch_answer *answer,
                       struct verdict_room *room, size_t index, struct msg_outcome *out);

/* The same for a poll that was never begun, so it says nothing of the provider: `ignore`. error
 * says why. */
void verdict_make_unsent(const char *error, struct msg_outcome *out);

#endif

#include "services/poller/verdict.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/ruled.h"
#include "services/poller/blot.h"

enum { VERDICT_SCRATCH_SPARE = 4096 };

void verdict_room_init(struct verdict_room *room)
{
    room->stage = ALD_STAGE_POLL;
    room->poll_url[0] = room->result_url[0] = '\0';
    room->alert = false;
    ald_buf_init(&room->scratch, VERDICT_SCRATCH_SPARE);
    ald_buf_init(&room->joined, VERDICT_SCRATCH_SPARE);
}

void verdict_room_free(struct verdict_room *room)
{
    ald_buf_free(&room->scratch);
    ald_buf_free(&room->joined);
}

/* Copy the first bytes of from without the profile's secrets. Returns how many were copied. */
static size_t verdict_copy_blotted(uint8_t *out, size_t cap, struct ald_span from,
                                   const struct ald_profile *profile)
{
    size_t len = from.len < cap ? from.len : cap;
    if (len)
        memcpy(out, from.data, len);
    blot(out, len, from, profile->key);
    for (unsigned i = 0; profile->ruled && i < profile->ruled->secrets.count; i++)
        blot(out, len, from, profile->ruled->secrets.list[i].value);
    return len;
}

static void verdict_unknown(const char *error, struct msg_outcome *out)
{
    snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_UNKNOWN));
    snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(ALD_CLASS_NONE));
    snprintf(out->scope, sizeof out->scope, "%s", ald_scope_name(ALD_SCOPE_TASK));
    snprintf(out->error, sizeof out->error, "%s", error);
}

void verdict_make_unsent(const char *error, struct msg_outcome *out)
{
    out->left = false;
    out->answered = false;
    verdict_unknown(error, out);
    snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_IGNORE));
}

/* Words of the provider's that are shown: without secrets, and UTF-8. */
static void verdict_words(char *out, size_t cap, const char *words,
                          const struct ald_profile *profile)
{
    size_t len = verdict_copy_blotted((uint8_t *)out, cap - 1, ald_span_str(words), profile);
    out[len] = '\0';
    if (ald_text_utf8_ok(ald_span_of(out, len)))
        return;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)out[i] >= 0x80)
            out[i] = '?';
    }
}

static struct ald_facts verdict_facts(const struct fetch_answer *answer,
                                      struct ald_fact_header headers[ALD_FACT_HEADERS_MAX])
{
    return (struct ald_facts){
        .http = answer->status,
        .headers = headers,
        .header_count = ald_headers_read(answer->head, headers),
        .content_type = answer->content_type,
        .body = answer->body,
    };
}

static void verdict_say(const struct ald_profile *profile, const struct ald_verdict *verdict,
                        struct verdict_room *room, struct msg_outcome *out)
{
    snprintf(out->then, sizeof out->then, "%s", ald_then_name(verdict->then));
    snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(verdict->cls));
    snprintf(out->scope, sizeof out->scope, "%s", ald_scope_name(verdict->scope));
    memcpy(room->poll_url, verdict->poll_url, sizeof room->poll_url);
    memcpy(room->result_url, verdict->result_url, sizeof room->result_url);
    out->poll_url = ald_span_str(room->poll_url);
    out->result_url = ald_span_str(room->result_url);
    room->alert = verdict->alert;
    out->block = verdict->block;
    out->resubmit = verdict->resubmit;
    out->wait_ms = verdict->wait_ms;
    out->grace_ms = verdict->grace_ms;
    out->result = verdict->result;
    out->result_json = verdict->result_json;
    verdict_words(out->code, sizeof out->code, verdict->code, profile);
    verdict_words(out->detail, sizeof out->detail, verdict->detail, profile);
    if (room->stage == ALD_STAGE_SUBMIT)
        verdict_words(out->provider_id, sizeof out->provider_id, verdict->id, profile);
}

static void verdict_judge(const struct ald_profile *profile, const struct fetch_answer *answer,
                          struct verdict_room *room, struct msg_outcome *out)
{
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const struct ald_facts facts = verdict_facts(answer, headers);
    struct ald_verdict verdict = {0};
    room->scratch.max = answer->body.len + VERDICT_SCRATCH_SPARE;
    ald_profile_judge(profile, room->stage, &facts, &room->scratch, &verdict);
    verdict_say(profile, &verdict, room, out);
}

/* What came, whatever it means. */
static void verdict_begin(const struct ald_profile *profile, const struct fetch_answer *answer,
                          struct ald_span evidence, struct verdict_room *room,
                          struct msg_outcome *out)
{
    room->poll_url[0] = room->result_url[0] = '\0';
    out->left = answer->left;
    out->answered = answer->answered;
    out->http = answer->status;
    out->took_ms = answer->took_ms;
    size_t len = verdict_copy_blotted(room->evidence, sizeof room->evidence, evidence, profile);
    out->evidence = ald_span_of(room->evidence, len);
}

void verdict_make(const struct ald_profile *profile, const struct fetch_answer *answer,
                  struct verdict_room *room, struct msg_outcome *out)
{
    verdict_begin(profile, answer, answer->body, room, out);
    if (answer->answered)
        verdict_judge(profile, answer, room, out);
    else
        verdict_unknown(answer->error, out);
}

void verdict_read_batch(const struct ald_profile *profile, const struct fetch_answer *answer,
                        struct verdict_room *room, size_t count)
{
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const struct ald_facts facts = verdict_facts(answer, headers);
    room->batch.said = ALD_BATCH_NOTHING;
    room->scratch.max = room->joined.max = answer->body.len + VERDICT_SCRATCH_SPARE;
    if (answer->answered)
        ald_batch_read(profile, &facts, count, &room->scratch, &room->joined, &room->batch);
}

/* Of an answer that can't be told apart no evidence is kept: it may be the results of others. */
static struct ald_span verdict_part_evidence(const struct fetch_answer *answer,
                                             const struct ald_batch_answer *batch, size_t index)
{
    if (batch->said == ALD_BATCH_PARTS)
        return batch->part[index];
    return batch->said == ALD_BATCH_UNCUT ? ald_span_of(NULL, 0) : answer->body;
}

void verdict_make_part(const struct ald_profile *profile, const struct fetch_answer *answer,
                       struct verdict_room *room, size_t index, struct msg_outcome *out)
{
    const struct ald_batch_answer *batch = &room->batch;
    struct ald_verdict verdict;
    verdict_begin(profile, answer, verdict_part_evidence(answer, batch, index), room, out);
    if (!answer->answered) {
        verdict_unknown(answer->error, out);
        return;
    }
    out->alone = ald_batch_judge(profile, batch, index, &room->scratch, &verdict);
    verdict_say(profile, &verdict, room, out);
    if (batch->said == ALD_BATCH_UNCUT)
        snprintf(out->error, sizeof out->error,
                 "the answer for several tasks can't be told apart: it has %zu parts",
                 batch->parts);
}

#include "services/poller/verdict.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

enum { VERDICT_SCRATCH_SPARE = 4096 };

void verdict_room_init(struct verdict_room *room)
{
    ald_buf_init(&room->scratch, VERDICT_SCRATCH_SPARE);
}

void verdict_room_free(struct verdict_room *room)
{
    ald_buf_free(&room->scratch);
}

/* Copy the first bytes of from with each occurrence of the key blotted out, also of one that the
 * cut goes through. Returns how many were copied. */
static size_t verdict_copy_blotted(uint8_t *out, size_t cap, struct ald_span from, const char *key)
{
    size_t len = from.len < cap ? from.len : cap;
    size_t key_len = strlen(key);
    if (len)
        memcpy(out, from.data, len);
    if (key_len == 0)
        return len;
    for (size_t i = 0; i < len && key_len <= from.len - i; i++) {
        if (memcmp(from.data + i, key, key_len) == 0)
            memset(out + i, '*', key_len < len - i ? key_len : len - i);
    }
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

static void verdict_judge(const struct ald_profile *profile, const struct fetch_answer *answer,
                          struct verdict_room *room, struct msg_outcome *out)
{
    const struct ald_facts facts = {
        .http = answer->status,
        .content_type = answer->content_type,
        .body = answer->body,
    };
    struct ald_verdict verdict = {0};
    room->scratch.max = answer->body.len + VERDICT_SCRATCH_SPARE;
    ald_profile_judge(profile, ALD_STAGE_POLL, &facts, &room->scratch, &verdict);
    snprintf(out->then, sizeof out->then, "%s", ald_then_name(verdict.then));
    snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(verdict.cls));
    snprintf(out->scope, sizeof out->scope, "%s", ald_scope_name(verdict.scope));
    out->block = verdict.block;
    out->wait_ms = verdict.wait_ms;
    out->grace_ms = verdict.grace_ms;
    out->result = verdict.result;
    out->result_json = verdict.result_json;
    size_t len = verdict_copy_blotted((uint8_t *)out->code, sizeof out->code - 1,
                                      ald_span_str(verdict.code), profile->key);
    out->code[len] = '\0';
    if (ald_text_utf8_ok(ald_span_of(out->code, len)))
        return;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)out->code[i] >= 0x80)
            out->code[i] = '?';
    }
}

void verdict_make(const struct ald_profile *profile, const struct fetch_answer *answer,
                  struct verdict_room *room, struct msg_outcome *out)
{
    out->left = answer->left;
    out->answered = answer->answered;
    out->http = answer->status;
    out->took_ms = answer->took_ms;
    size_t len =
        verdict_copy_blotted(room->evidence, sizeof room->evidence, answer->body, profile->key);
    out->evidence = ald_span_of(room->evidence, len);
    if (answer->answered)
        verdict_judge(profile, answer, room, out);
    else
        verdict_unknown(answer->error, out);
}

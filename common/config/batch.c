#include "common/config/batch.h"

#include <stdio.h>
#include <string.h>

#include "common/config/extract.h"

enum { BATCH_JOINT = '|' };

bool ald_batch_takes(const struct ald_profile *profile, const char *provider_id)
{
    return profile->batch.max > 1 && provider_id[0] != '\0' && strpbrk(provider_id, ",|") == NULL;
}

/* Is it about the account, or the same of every task, and no end of any? */
static bool batch_whole(const struct ald_verdict *verdict)
{
    if (verdict->then == ALD_THEN_PENDING)
        return true;
    return verdict->then == ALD_THEN_CODE && strchr(verdict->code, BATCH_JOINT) == NULL &&
           (verdict->cls == ALD_CLASS_PENDING || verdict->cls == ALD_CLASS_TRANSIENT ||
            verdict->cls == ALD_CLASS_CONFIG);
}

static void batch_cut(struct ald_span text, struct ald_batch_answer *out)
{
    size_t begin = 0;
    for (size_t at = 0; at <= text.len; at++) {
        if (at < text.len && text.data[at] != BATCH_JOINT)
            continue;
        if (out->parts < ALD_BATCH_MAX)
            out->part[out->parts] = ald_span_of(text.data + begin, at - begin);
        out->parts++;
        begin = at + 1;
    }
}

void ald_batch_read(const struct ald_profile *profile, const struct ald_facts *facts, size_t count,
                    struct ald_buf *scratch, struct ald_buf *joined, struct ald_batch_answer *out)
{
    ALD_ASSERT(count > 1 && count <= ALD_BATCH_MAX);
    const struct ald_span text = ald_message_trim(facts->body);
    const bool good = facts->http == 0 || (facts->http >= 200 && facts->http < 300);
    const uint8_t first = text.len > 0 ? text.data[0] : 0;
    *out = (struct ald_batch_answer){.said = ALD_BATCH_NOTHING};
    ald_buf_reset(joined);
    ald_profile_judge(profile, ALD_STAGE_POLL, facts, scratch, &out->verdict);
    if (batch_whole(&out->verdict)) {
        out->said = ALD_BATCH_WHOLE;
        out->verdict.result = ald_span_of(NULL, 0);
        return;
    }
    if (!good || first == 0 || first == '<')
        return;
    out->said = ALD_BATCH_UNCUT;
    bool done = out->verdict.then == ALD_THEN_DONE;
    if (first == '{' && done && !out->verdict.result_json)
        ald_buf_put_span(joined, out->verdict.result);
    else if (first != '{' && first != '[' && !done)
        ald_buf_put_span(joined, text);
    if (joined->len == 0 || !ald_buf_ok(joined))
        return;
    out->envelope = done;
    batch_cut(ald_buf_span(joined), out);
    if (out->parts == count)
        out->said = ALD_BATCH_PARTS;
}

static bool batch_unknown(struct ald_verdict *out)
{
    *out = (struct ald_verdict){.then = ALD_THEN_UNKNOWN};
    (void)snprintf(out->rule, sizeof out->rule, "batch-part");
    return true;
}

bool ald_batch_judge(const struct ald_profile *profile, const struct ald_batch_answer *answer,
                     size_t index, struct ald_buf *scratch, struct ald_verdict *out)
{
    if (answer->said == ALD_BATCH_WHOLE) {
        *out = answer->verdict;
        return false;
    }
    if (answer->said != ALD_BATCH_PARTS || ald_span_trim(answer->part[index]).len == 0)
        return batch_unknown(out) && answer->said != ALD_BATCH_NOTHING;
    const struct ald_span part = answer->part[index];
    const struct ald_facts facts = {.body = part};
    bool json = part.data[0] == '{' || part.data[0] == '[';
    if (!json) {
        ald_profile_judge(profile, ALD_STAGE_POLL, &facts, scratch, out);
        if (out->then == ALD_THEN_CODE || out->then == ALD_THEN_PENDING ||
            out->then == ALD_THEN_LOST || out->then == ALD_THEN_FAILED)
            return false;
    }
    (void)batch_unknown(out);
    if (!answer->envelope)
        return true;
    out->then = ALD_THEN_DONE;
    out->result = part;
    return false;
}

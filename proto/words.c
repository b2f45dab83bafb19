#include "proto/words.h"

#include <stddef.h>
#include <string.h>

static const char *const states[ALD_STATE_COUNT] = {
    [ALD_STATE_ACCEPTED] = "accepted",   [ALD_STATE_SUBMITTING] = "submitting",
    [ALD_STATE_PENDING] = "pending",     [ALD_STATE_POLLING] = "polling",
    [ALD_STATE_DONE] = "done",           [ALD_STATE_FAILED] = "failed",
    [ALD_STATE_LOST] = "lost",           [ALD_STATE_EXPIRED] = "expired",
    [ALD_STATE_CANCELLED] = "cancelled",
};

static const char *const dispositions[ALD_DISP_ANSWERS] = {
    [ALD_DISP_APPLIED] = "applied",     [ALD_DISP_PROGRESS] = "progress",
    [ALD_DISP_DUPLICATE] = "duplicate", [ALD_DISP_PARKED] = "parked",
    [ALD_DISP_DEAD] = "dead",           [ALD_DISP_DROPPED] = "dropped",
    [ALD_DISP_BUSY] = "busy",           [ALD_DISP_REFUSED] = "refused",
    [ALD_DISP_STILL] = "still",         [ALD_DISP_REPLACED] = "replaced",
    [ALD_DISP_CORRECTED] = "corrected",
};

static const char *const reasons[ALD_REASON_COUNT] = {
    [ALD_REASON_NONE] = "",
    [ALD_REASON_MALFORMED] = "malformed",
    [ALD_REASON_UNAUTHENTICATED] = "unauthenticated",
    [ALD_REASON_UNKNOWN_TASK] = "unknown_task",
    [ALD_REASON_UNMAPPED_STATUS] = "unmapped_status",
    [ALD_REASON_CONFLICT] = "conflict",
    [ALD_REASON_SUBMIT_FAILED] = "submit_failed",
    [ALD_REASON_SUBMIT_UNCERTAIN] = "submit_uncertain",
    [ALD_REASON_EXPIRED] = "expired",
    [ALD_REASON_CONSUMER_REJECTED] = "consumer_rejected",
};

static const char *const sources[ALD_SOURCE_COUNT] = {
    [ALD_SOURCE_CALLBACK] = "callback", [ALD_SOURCE_LATE] = "late",
    [ALD_SOURCE_POLL] = "poll",         [ALD_SOURCE_REPLAY] = "replay",
    [ALD_SOURCE_MANUAL] = "manual",     [ALD_SOURCE_SUBMIT] = "submit",
};

static const char *const proofs[ALD_PROOF_COUNT] = {
    [ALD_PROOF_NONE] = "none",
    [ALD_PROOF_ID] = "id",
    [ALD_PROOF_TOKEN] = "token",
    [ALD_PROOF_AUTH] = "auth",
};

static const char *words_name(const char *const *words, size_t count, size_t index)
{
    ALD_ASSERT(index < count);
    return words[index];
}

/* The place of word in the list, or count. */
static size_t words_find(const char *const *words, size_t count, const char *word)
{
    size_t i = 0;
    while (i < count && strcmp(words[i], word) != 0)
        i++;
    return i;
}

const char *ald_state_name(enum ald_state state)
{
    return words_name(states, ALD_COUNT(states), (size_t)state);
}

const char *ald_disposition_name(enum ald_disposition disposition)
{
    return words_name(dispositions, ALD_COUNT(dispositions), (size_t)disposition);
}

const char *ald_reason_name(enum ald_reason reason)
{
    return words_name(reasons, ALD_COUNT(reasons), (size_t)reason);
}

const char *ald_source_name(enum ald_source source)
{
    return words_name(sources, ALD_COUNT(sources), (size_t)source);
}

const char *ald_proof_name(enum ald_proof proof)
{
    return words_name(proofs, ALD_COUNT(proofs), (size_t)proof);
}

bool ald_state_find(const char *word, enum ald_state *out)
{
    size_t i = words_find(states, ALD_COUNT(states), word);
    if (i == ALD_COUNT(states))
        return false;
    *out = (enum ald_state)i;
    return true;
}

bool ald_disposition_find(const char *word, enum ald_disposition *out)
{
    size_t i = words_find(dispositions, ALD_COUNT(dispositions), word);
    if (i == ALD_COUNT(dispositions))
        return false;
    *out = (enum ald_disposition)i;
    return true;
}

bool ald_reason_find(const char *word, enum ald_reason *out)
{
    size_t i = words_find(reasons, ALD_COUNT(reasons), word);
    if (i == ALD_COUNT(reasons))
        return false;
    *out = (enum ald_reason)i;
    return true;
}

bool ald_source_find(const char *word, enum ald_source *out)
{
    size_t i = words_find(sources, ALD_COUNT(sources), word);
    if (i == ALD_COUNT(sources))
        return false;
    *out = (enum ald_source)i;
    return true;
}

bool ald_proof_find(const char *word, enum ald_proof *out)
{
    size_t i = words_find(proofs, ALD_COUNT(proofs), word);
    if (i == ALD_COUNT(proofs))
        return false;
    *out = (enum ald_proof)i;
    return true;
}

#include "services/dlq/letters.h"

#include <string.h>

#define NEEDS_BUY                                                                                  \
    "Trying this again submits a new task, which is paid for: replay it with --buy (in the API: "  \
    "\"buy\": true)."

static const struct letter_rule letter_rules[ALD_REASON_COUNT] = {
    [ALD_REASON_NONE] = {.refused = "The letter's reason is not known."},
    [ALD_REASON_MALFORMED] = {.replay = true, .edit = true},
    [ALD_REASON_UNAUTHENTICATED] =
        {.replay = true,
         .edit = true,
         .word = LETTER_BELIEVE,
         .needs = "Nothing proves who sent this message: replay it with --believe (in the API: "
                  "\"believe\": true) only if you know that it is genuine."},
    [ALD_REASON_UNKNOWN_TASK] = {.scheduled = true, .replay = true, .edit = true},
    [ALD_REASON_UNMAPPED_STATUS] = {.scheduled = true, .replay = true, .edit = true},
    [ALD_REASON_CONFLICT] = {.replay = true,
                             .word = LETTER_PUBLISH,
                             .needs = "The task has another result, so this answer would conflict "
                                      "again: read it, then drop the letter, or publish it as a "
                                      "correction with --publish (in the API: \"publish\": true)."},
    [ALD_REASON_SUBMIT_FAILED] = {.replay = true, .word = LETTER_BUY, .needs = NEEDS_BUY},
    [ALD_REASON_SUBMIT_UNCERTAIN] = {.replay = true,
                                     .word = LETTER_BUY,
                                     .needs = "The provider may have taken the task, and may still "
                                              "answer it; the letter closes itself then. " NEEDS_BUY
                                              " Both may be paid for."},
    [ALD_REASON_EXPIRED] = {.replay = true, .word = LETTER_BUY, .needs = NEEDS_BUY},
    [ALD_REASON_CONSUMER_REJECTED] = {.scheduled = true, .replay = true},
};

static const char *const letter_state_names[LETTER_STATES] = {
    [LETTER_OPEN] = "open",
    [LETTER_HELD] = "held",
    [LETTER_RESOLVED] = "resolved",
    [LETTER_DROPPED] = "dropped",
};

const struct letter_rule *letter_rule_of(enum ald_reason reason)
{
    ALD_ASSERT(reason < ALD_REASON_COUNT);
    return &letter_rules[reason];
}

bool letter_unproven(enum ald_reason reason, enum ald_proof proof)
{
    if (proof >= ALD_PROOF_TOKEN)
        return false;
    switch (reason) {
    case ALD_REASON_MALFORMED:
    case ALD_REASON_UNAUTHENTICATED:
    case ALD_REASON_UNKNOWN_TASK: /* an id that nobody knows proves nothing */
        return true;
    case ALD_REASON_UNMAPPED_STATUS:
    case ALD_REASON_CONFLICT:
        return proof == ALD_PROOF_NONE;
    case ALD_REASON_NONE:
    case ALD_REASON_SUBMIT_FAILED:
    case ALD_REASON_SUBMIT_UNCERTAIN:
    case ALD_REASON_EXPIRED:
    case ALD_REASON_CONSUMER_REJECTED:
    case ALD_REASON_COUNT:
        break;
    }
    return false;
}

static int64_t letter_next_due(const struct letter *self, const struct letter_plan *plan,
                               int64_t now_ms, uint64_t random)
{
    if (!letter_rules[self->reason].scheduled || self->empty)
        return 0;
    unsigned step = self->attempts < UINT32_MAX ? (unsigned)self->attempts : UINT32_MAX;
    return now_ms + ald_backoff_wait(&plan->backoff, step, random);
}

void letter_open(struct letter *self, const struct letter_plan *plan, int64_t now_ms,
                 uint64_t random)
{
    *self = (struct letter){
        .reason = self->reason, .empty = self->empty, .state = LETTER_OPEN, .revision = 1};
    if (plan->max_attempts > 0)
        self->due_at_ms = letter_next_due(self, plan, now_ms, random);
    else if (letter_rules[self->reason].scheduled)
        self->state = LETTER_HELD;
}

bool letter_begin(struct letter *self, int64_t now_ms)
{
    if (letter_closed(self->state) || self->pinned != 0 || self->due_at_ms == 0 ||
        self->due_at_ms > now_ms)
        return false;
    self->attempts++;
    self->pinned = self->revision;
    self->due_at_ms = 0;
    return true;
}

static void letter_close(struct letter *self, enum letter_state state, int64_t now_ms)
{
    self->state = state;
    self->due_at_ms = 0;
    self->closed_at_ms = now_ms;
}

static void letter_still(struct letter *self, const struct letter_plan *plan, int64_t now_ms,
                         uint64_t random)
{
    if (self->state == LETTER_HELD || !letter_rules[self->reason].scheduled)
        return;
    if (self->attempts >= plan->max_attempts) {
        self->state = LETTER_HELD;
        return;
    }
    self->due_at_ms = letter_next_due(self, plan, now_ms, random);
}

bool letter_answer(struct letter *self, const struct letter_plan *plan,
                   enum ald_disposition disposition, int64_t now_ms, uint64_t random)
{
    self->pinned = 0;
    self->by_person = false;
    self->word = LETTER_PLAIN;
    if (letter_closed(self->state))
        return true; /* by the tracker, while the answer was on its way */
    switch (disposition) {
    case ALD_DISP_APPLIED:
    case ALD_DISP_DUPLICATE:
    case ALD_DISP_PROGRESS:
    case ALD_DISP_REPLACED:
    case ALD_DISP_CORRECTED:
        letter_close(self, LETTER_RESOLVED, now_ms);
        return true;
    case ALD_DISP_DROPPED:
        letter_close(self, LETTER_DROPPED, now_ms);
        return true;
    case ALD_DISP_PARKED:
    case ALD_DISP_DEAD:
    case ALD_DISP_BUSY: /* also ALD_DISP_COUNT */
    case ALD_DISP_REFUSED:
    case ALD_DISP_STILL:
    case ALD_DISP_ANSWERS:
        break;
    }
    letter_still(self, plan, now_ms, random);
    return false;
}

bool letter_word_said(bool believe, bool buy, bool publish, enum letter_word *out)
{
    *out = believe ? LETTER_BELIEVE : buy ? LETTER_BUY : publish ? LETTER_PUBLISH : LETTER_PLAIN;
    return believe + buy + publish <= 1;
}

enum letter_word letter_word_kept(int64_t number)
{
    bool known = number >= LETTER_PLAIN && number <= LETTER_PUBLISH;
    return known ? (enum letter_word)number : LETTER_PLAIN;
}

enum letter_verdict letter_replay(struct letter *self, enum letter_word word, int64_t now_ms)
{
    const struct letter_rule *rule = letter_rule_of(self->reason);
    if (letter_closed(self->state))
        return LETTER_CLOSED;
    if (!rule->replay)
        return LETTER_NOT_ALLOWED;
    if (word != rule->word)
        return rule->word != LETTER_PLAIN && word == LETTER_PLAIN ? LETTER_UNVOUCHED
                                                                  : LETTER_NOT_FORGED;
    if (self->empty && word != LETTER_BUY)
        return LETTER_EMPTY;
    if (self->pinned != 0)
        return LETTER_UNDER_WAY;
    self->due_at_ms = now_ms;
    self->by_person = true;
    self->word = word;
    return LETTER_YES;
}

enum letter_verdict letter_edit(struct letter *self, uint64_t seen)
{
    if (letter_closed(self->state))
        return LETTER_CLOSED;
    if (self->empty)
        return LETTER_EMPTY;
    if (!letter_rule_of(self->reason)->edit)
        return LETTER_NO_EDIT;
    if (seen != self->revision)
        return LETTER_STALE;
    if (self->revision >= LETTER_REVISIONS_MAX)
        return LETTER_REVISED;
    self->revision++;
    return LETTER_YES;
}

bool letter_asked(const struct letter *self)
{
    return self->by_person && !letter_closed(self->state);
}

enum letter_verdict letter_drop(struct letter *self, int64_t now_ms)
{
    if (letter_closed(self->state))
        return LETTER_CLOSED;
    /* Its answer may be on the way; a letter must not be both applied and dropped. */
    if (self->pinned != 0)
        return LETTER_UNDER_WAY;
    letter_close(self, LETTER_DROPPED, now_ms);
    self->closing = true;
    return LETTER_YES;
}

bool letter_told(struct letter *self, bool dropped, int64_t now_ms)
{
    if (letter_closed(self->state))
        return false;
    self->pinned = 0;
    letter_close(self, dropped ? LETTER_DROPPED : LETTER_RESOLVED, now_ms);
    return true;
}

const char *letter_why(enum letter_verdict verdict, enum ald_reason reason)
{
    switch (verdict) {
    case LETTER_YES:
        return "";
    case LETTER_CLOSED:
        return "The letter is closed already.";
    case LETTER_UNDER_WAY:
        return "An attempt is under way: wait for its answer, then ask again.";
    case LETTER_NOT_ALLOWED:
        return letter_rule_of(reason)->refused ? letter_rule_of(reason)->refused
                                               : "A letter with this reason is not replayed.";
    case LETTER_UNVOUCHED:
        return letter_rule_of(reason)->needs ? letter_rule_of(reason)->needs
                                             : letter_why(LETTER_NOT_FORGED, reason);
    case LETTER_NOT_FORGED:
        return "This reason does not take that word: --believe is for unauthenticated letters, "
               "--buy for submit_failed, submit_uncertain and expired ones, --publish for "
               "conflicts.";
    case LETTER_EMPTY:
        return "The letter holds no message to judge.";
    case LETTER_NO_EDIT:
        return "Only a callback that is to be judged again can be edited; this letter's message is "
               "replayed as it is, or not at all.";
    case LETTER_STALE:
        return "The message was edited by somebody else in between: look at the newest revision, "
               "then edit that.";
    case LETTER_REVISED:
        return "The message was edited 100 times, which is the most: replay it or drop the letter.";
    case LETTER_VERDICTS:
        break;
    }
    ALD_ASSERT(false);
    return "";
}

const char *letter_refusal(const char *word)
{
    static const char *const sentences[][2] = {
        {"unsubmitted", "Nothing was bought: aldaba did not submit this task, or it is purged, so "
                        "there is nothing to submit."},
        {"forgotten", "Nothing was bought: what was submitted is not kept any more."},
        {"older",
         "Nothing was bought: the tracker's store was put back since this was asked, and it "
         "may have been bought before. Look at the provider, then ask again."},
        {"answered", "Nothing was bought: an answer of this task lies in a letter with the reason "
                     "conflict. Publish that, or drop it first."},
        {"unfit",
         "Nothing was bought: today's profile makes no request of what was submitted, or is "
         "not in the settings; the tracker's log says more."},
        {"full", "Nothing was bought: tracker.max_open tasks are open. Ask again later."},
        {"open", "Nothing was published: the task has not ended."},
        {"purged", "Nothing was published: the task is not kept any more."},
        {"oversized", "It was not judged: it is larger than the tracker takes."},
        {"unreadable", "Nothing was published: today's profile reads no answer in this message."},
    };
    for (size_t i = 0; i < ALD_COUNT(sentences); i++)
        if (strcmp(word, sentences[i][0]) == 0)
            return sentences[i][1];
    return word;
}

int64_t letter_plan_longest_ms(const struct letter_plan *plan)
{
    const struct ald_backoff *backoff = &plan->backoff;
    int64_t wait_ms = backoff->max_ms > backoff->first_ms ? backoff->max_ms : backoff->first_ms;
    return wait_ms + wait_ms / 100 * (int64_t)backoff->jitter_percent + 1000;
}

const char *letter_verdict_name(enum letter_verdict verdict)
{
    static const char *const names[LETTER_VERDICTS] = {
        [LETTER_YES] = "",
        [LETTER_CLOSED] = "closed",
        [LETTER_UNDER_WAY] = "under_way",
        [LETTER_NOT_ALLOWED] = "not_allowed",
        [LETTER_UNVOUCHED] = "unvouched",
        [LETTER_NOT_FORGED] = "not_forged",
        [LETTER_EMPTY] = "empty",
        [LETTER_NO_EDIT] = "no_edit",
        [LETTER_STALE] = "stale",
        [LETTER_REVISED] = "revised",
    };
    ALD_ASSERT(verdict < LETTER_VERDICTS);
    return names[verdict];
}

const char *letter_state_name(enum letter_state state)
{
    ALD_ASSERT(state < LETTER_STATES);
    return letter_state_names[state];
}

bool letter_state_find(const char *word, enum letter_state *out)
{
    for (unsigned i = 0; i < LETTER_STATES; i++) {
        if (strcmp(word, letter_state_names[i]) == 0) {
            *out = (enum letter_state)i;
            return true;
        }
    }
    return false;
}

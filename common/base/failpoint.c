#include "common/base/failpoint.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/text.h"

enum { FAILPOINT_RULES_MAX = 128 };

/* Every place, once; tests/lint/failpoints.py holds it against the code. */
static const char *const failpoint_names[] = {
    "backup.rename",  "backup.sync",     "caller.ask",       "canary.rename",
    "control.answer", "copy.rename",     "courier.ack",      "courier.hello",
    "courier.send",   "desk.answer",     "events.welcome",   "feed.answer",
    "feed.head",      "feed.publish",    "folder.make",      "folder.sync",
    "gate.send",      "gateway.answer",  "gateway.event",    "gateway.stream",
    "health.ask",     "inbox.ack",       "inbox.welcome",    "jobs.lease",
    "judger.ask",     "key.sync",        "key.write",        "keychain.rename",
    "keychain.sync",  "keychain.write",  "keyfile.rename",   "keyfile.sync",
    "keyfile.write",  "keyring.rename",  "keyring.sync",     "keyring.write",
    "log.sync",       "log.write",       "manifest.sync",    "manifest.write",
    "mark.claim",     "mark.sync",       "mark.write",       "outbox.clear",
    "outbox.send",    "poller.answer",   "poller.ask",       "poller.keys",
    "poller.outcome", "poller.push",     "poller.ready",     "poller.sink",
    "poller.start",   "query.answer",    "reinject.send",    "reserve.sync",
    "reserve.take",   "settle.sync",     "store.checkpoint", "store.checkpoint_beside",
    "store.commit",   "store.committed", "swap.aside",       "swap.aside_plain",
    "swap.exchange",  "swap.mark",       "swap.place",       "swap.place_plain",
    "swap.sync",      "swap.write",      "tracker.reader",
};

enum failpoint_action {
    FAILPOINT_NONE,
    FAILPOINT_NOTE, /* only say that it was met */
    FAILPOINT_CRASH,
    FAILPOINT_ERROR,
    FAILPOINT_EIO,
    FAILPOINT_ENOSPC,
    FAILPOINT_SHORT,
    FAILPOINT_DROP,
    FAILPOINT_DELAY
};

static const struct {
    const char *word;
    enum failpoint_action action;
} failpoint_words[] = {
    {"note", FAILPOINT_NOTE}, {"crash", FAILPOINT_CRASH},   {"error", FAILPOINT_ERROR},
    {"eio", FAILPOINT_EIO},   {"enospc", FAILPOINT_ENOSPC}, {"short", FAILPOINT_SHORT},
    {"drop", FAILPOINT_DROP},
};

struct failpoint_rule {
    size_t name; /* index; that past the last is every name */
    enum failpoint_action action;
    int64_t delay_ms;
    uint64_t at;
    bool onwards; /* from `at` on */
};

static struct {
    pthread_once_t once;
    struct failpoint_rule rules[FAILPOINT_RULES_MAX];
    size_t count;
    _Atomic uint64_t met[ALD_COUNT(failpoint_names)];
} failpoints = {.once = PTHREAD_ONCE_INIT};

static _Thread_local enum failpoint_action failpoint_last;

/* ---- what the environment says ---- */

static size_t failpoint_find(struct ald_span name)
{
    size_t i = 0;
    while (i < ALD_COUNT(failpoint_names) && !ald_span_eq_str(name, failpoint_names[i]))
        i++;
    return i;
}

static bool failpoint_name(struct ald_span word, struct failpoint_rule *rule)
{
    rule->name = failpoint_find(word);
    return rule->name < ALD_COUNT(failpoint_names) || ald_span_eq_str(word, "*");
}

static bool failpoint_action(struct ald_span word, struct failpoint_rule *rule)
{
    static const char delay[] = "delay=";
    const size_t lead = sizeof delay - 1;
    for (size_t i = 0; i < ALD_COUNT(failpoint_words); i++)
        if (ald_span_eq_str(word, failpoint_words[i].word))
            rule->action = failpoint_words[i].action;
    if (rule->action != FAILPOINT_NONE)
        return true;
    rule->action = FAILPOINT_DELAY;
    return word.len > lead && memcmp(word.data, delay, lead) == 0 &&
           ald_text_i64(ald_span_of(word.data + lead, word.len - lead), &rule->delay_ms) == ALD_OK;
}

static bool failpoint_when(struct ald_span word, struct failpoint_rule *rule)
{
    rule->onwards = word.len > 0 && word.data[word.len - 1] == '+';
    word.len -= rule->onwards;
    return ald_text_u64(word, &rule->at) == ALD_OK && rule->at > 0;
}

/* The part up to `end`, which is taken off. */
static struct ald_span failpoint_part(struct ald_span *left, char end)
{
    size_t len = 0;
    while (len < left->len && left->data[len] != (uint8_t)end)
        len++;
    struct ald_span part = ald_span_of(left->data, len);
    size_t taken = len < left->len ? len + 1 : len;
    *left = ald_span_of(left->data + taken, left->len - taken);
    return part;
}

static void failpoint_read(void)
{
    const char *text = getenv("ALDABA_FAILPOINT");
    struct ald_span left = ald_span_str(text ? text : "");
    while (left.len > 0) {
        struct failpoint_rule rule = {0};
        struct ald_span one = failpoint_part(&left, ',');
        bool good = failpoint_name(failpoint_part(&one, ':'), &rule) &&
                    failpoint_action(failpoint_part(&one, ':'), &rule) &&
                    failpoint_when(one, &rule);
        ALD_ASSERT(good && "ALDABA_FAILPOINT is NAME:ACTION:N, and names are those of HACKING.md");
        ALD_ASSERT(failpoints.count < FAILPOINT_RULES_MAX);
        failpoints.rules[failpoints.count++] = rule;
    }
}

/* ---- what happens ---- */

static void failpoint_pause(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static bool failpoint_fire(const struct failpoint_rule *rule, const char *name, uint64_t met)
{
    size_t word = 0;
    while (word < ALD_COUNT(failpoint_words) && failpoint_words[word].action != rule->action)
        word++;
    ald_log(ALD_WARN, "failpoint", "name=%s action=%s n=%llu", name,
            word < ALD_COUNT(failpoint_words) ? failpoint_words[word].word : "delay",
            (unsigned long long)met);
    if (rule->action == FAILPOINT_CRASH) /* nothing is flushed, closed or said any more */
        (void)kill(getpid(), SIGKILL);
    if (rule->action == FAILPOINT_DELAY)
        failpoint_pause(rule->delay_ms);
    if (rule->action == FAILPOINT_DELAY || rule->action == FAILPOINT_NOTE)
        return false;
    bool full = rule->action == FAILPOINT_ENOSPC || rule->action == FAILPOINT_SHORT;
    failpoint_last = rule->action;
    errno = full ? ENOSPC : EIO;
    return true;
}

bool ald_failpoint(const char *name)
{
    (void)pthread_once(&failpoints.once, failpoint_read);
    if (failpoints.count == 0)
        return false;
    size_t at = failpoint_find(ald_span_str(name));
    ALD_ASSERT(at < ALD_COUNT(failpoint_names));
    uint64_t met = atomic_fetch_add(&failpoints.met[at], 1) + 1;
    bool fails = false;
    for (size_t i = 0; i < failpoints.count; i++) {
        const struct failpoint_rule *rule = &failpoints.rules[i];
        bool named = rule->name == at || rule->name == ALD_COUNT(failpoint_names);
        if (named && (met == rule->at || (rule->onwards && met > rule->at)))
            fails = failpoint_fire(rule, name, met) || fails;
    }
    return fails;
}

enum ald_rc ald_failpoint_rc(void)
{
    bool full = failpoint_last == FAILPOINT_ENOSPC || failpoint_last == FAILPOINT_SHORT;
    return full ? ALD_FULL : ALD_IO;
}

bool ald_failpoint_short(void)
{
    return failpoint_last == FAILPOINT_SHORT;
}

bool ald_failpoint_drop(void)
{
    return failpoint_last == FAILPOINT_DROP;
}

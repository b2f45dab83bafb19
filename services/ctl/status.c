/* Status: what a person wants to know first, from the figures of all services. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/age.h"
#include "services/ctl/commands.h"

enum { STATUS_ASK_MS = 15000, STATUS_LINE_MAX = 1024, STATUS_TROUBLES_MAX = 64 };

/* A line in the making. */
struct status_line {
    struct ald_buf text;
    enum tone tone;
};

static void status_begin(struct status_line *line)
{
    line->tone = TONE_PLAIN;
    ald_buf_init(&line->text, STATUS_LINE_MAX);
}

static void status_end(struct ctl *ctl, const char *name, struct status_line *line)
{
    ctl_line(ctl, name, ald_buf_str(&line->text), line->tone);
    ald_buf_free(&line->text);
}

static void status_count(struct status_line *line, struct ald_json answer, const char *pointer,
                         const char *word)
{
    ald_buf_printf(&line->text, "%lld %s", (long long)pick_int(answer, pointer), word);
}

/* "3 open, 2 held", of the figures that are not 0. */
static void status_parts(struct status_line *line, struct ald_json answer, const char *group,
                         const char *const *names)
{
    const char *before = ": ";
    for (; *names != NULL; names++) {
        char pointer[64];
        (void)snprintf(pointer, sizeof pointer, "%s/%s", group, *names);
        if (pick_int(answer, pointer) == 0)
            continue;
        ald_buf_put_str(&line->text, before);
        status_count(line, answer, pointer, *names);
        before = ", ";
    }
}

static void status_age(struct status_line *line, int64_t age_ms)
{
    char text[AGE_TEXT_MAX];
    ald_buf_put_str(&line->text, age_text(age_ms, text));
}

static int64_t status_since(int64_t wall_ms)
{
    int64_t age_ms = ald_clock_now().wall_ms - wall_ms;
    return age_ms > 0 ? age_ms : 0;
}

static void status_services(struct ctl *ctl, struct ald_json answer)
{
    static const char *const others[] = {"tracker", "dlq"};
    struct status_line line;
    status_begin(&line);
    ald_buf_put_str(&line.text, "gateway answers");
    for (size_t i = 0; i < ALD_COUNT(others); i++) {
        bool away = pick_has(answer, "/away", others[i]);
        ald_buf_printf(&line.text, ", %s %s", others[i], away ? "does NOT answer" : "answers");
        line.tone = away ? TONE_BAD : line.tone;
    }
    int64_t pollers = pick_int(answer, "/status/pollers");
    if (!pick_has(answer, "/away", "tracker")) {
        ald_buf_printf(&line.text, ", %lld poller%s at work", (long long)pollers,
                       pollers == 1 ? "" : "s");
        line.tone = pollers == 0 ? TONE_BAD : line.tone;
    }
    status_end(ctl, "services", &line);
}

static void status_tasks(struct ctl *ctl, struct ald_json answer)
{
    static const char *const open[] = {"accepted", "submitting", "pending", "polling", NULL};
    static const char *const ended[] = {"done", "failed", "lost", "expired", "cancelled", NULL};
    char id[32];
    int64_t sum = 0;
    int64_t oldest_ms = pick_int(answer, "/status/oldest_open_at_ms");
    struct status_line line;
    status_begin(&line);
    status_count(&line, answer, "/tasks/open", "open");
    status_parts(&line, answer, "/tasks", open);
    status_end(ctl, "tasks", &line);
    if (oldest_ms > 0) {
        status_begin(&line);
        ald_buf_printf(&line.text, "task %s, open for ",
                       pick_word(answer, "/status/oldest_open", id, sizeof id));
        status_age(&line, status_since(oldest_ms));
        status_end(ctl, "oldest", &line);
    }
    for (size_t i = 0; ended[i] != NULL; i++) {
        char pointer[64];
        (void)snprintf(pointer, sizeof pointer, "/tasks/%s", ended[i]);
        sum += pick_int(answer, pointer);
    }
    status_begin(&line);
    ald_buf_printf(&line.text, "%lld", (long long)sum);
    status_parts(&line, answer, "/tasks", ended);
    status_end(ctl, "ended", &line);
}

static void status_callbacks(struct ctl *ctl, struct ald_json answer)
{
    static const char *const parts[] = {"applied", "progress", "duplicate", "parked",
                                        "dead",    "dropped",  NULL};
    struct status_line line;
    status_begin(&line);
    status_count(&line, answer, "/arrivals/received", "received");
    status_parts(&line, answer, "/arrivals", parts);
    status_end(ctl, "callbacks", &line);
}

static void status_spool(struct ctl *ctl, struct ald_json answer)
{
    int64_t items = pick_int(answer, "/spool/items");
    int64_t oldest_ms = pick_int(answer, "/spool/oldest_ms");
    int64_t damaged = pick_int(answer, "/spool/damaged");
    int64_t oversized = pick_int(answer, "/spool/oversized");
    struct ald_json writable = ald_json_find(answer, "/spool/writable");
    struct status_line line;
    status_begin(&line);
    if (items == 0)
        ald_buf_put_str(&line.text, "empty");
    else
        ald_buf_printf(&line.text, "%lld callback%s on disk wait%s for the tracker",
                       (long long)items, items == 1 ? "" : "s", items == 1 ? "s" : "");
    if (items > 0 && oldest_ms > 0) {
        ald_buf_put_str(&line.text, ", the oldest for ");
        status_age(&line, oldest_ms);
    }
    if (damaged > 0)
        ald_buf_printf(&line.text, "; %lld damaged, moved aside", (long long)damaged);
    if (oversized > 0)
        ald_buf_printf(&line.text, "; %lld larger than the tracker takes", (long long)oversized);
    bool stuck = writable.kind == ALD_JSON_NUMBER && pick_int(answer, "/spool/writable") == 0;
    if (stuck)
        ald_buf_put_str(&line.text, "; it can NOT be written");
    line.tone = damaged + oversized > 0 || stuck ? TONE_BAD : items > 0 ? TONE_WAIT : TONE_PLAIN;
    status_end(ctl, "spool", &line);
}

static void status_letters(struct ctl *ctl, struct ald_json answer)
{
    int64_t open = pick_int(answer, "/dlq/open");
    int64_t held = pick_int(answer, "/dlq/held");
    int64_t outbox = pick_int(answer, "/letters/outbox");
    int64_t stuck = pick_int(answer, "/letters/outbox_stuck");
    int64_t age_ms = pick_int(answer, "/dlq/oldest_age_ms");
    struct status_line line;
    status_begin(&line);
    if (open + held + outbox == 0)
        ald_buf_put_str(&line.text, "none open");
    else
        ald_buf_printf(&line.text, "%lld open", (long long)open);
    if (held > 0)
        ald_buf_printf(&line.text, ", %lld held for a person: see 'aldaba dlq ls'",
                       (long long)held);
    if (outbox > 0)
        ald_buf_printf(&line.text, ", %lld on the way to the dlq", (long long)outbox);
    if (stuck > 0)
        ald_buf_printf(&line.text, ", %lld of them stuck: the tracker's log says why",
                       (long long)stuck);
    if (open + held > 0 && age_ms > 0) {
        ald_buf_put_str(&line.text, "; the oldest is of ");
        status_age(&line, age_ms);
        ald_buf_put_str(&line.text, " ago");
    }
    line.tone = held + stuck > 0 ? TONE_BAD : open + outbox > 0 ? TONE_WAIT : TONE_PLAIN;
    status_end(ctl, "dead letters", &line);
}

static void status_books(struct ctl *ctl, struct ald_json answer)
{
    char which[256];
    struct ald_json balanced = ald_json_find(answer, "/status/balanced");
    struct status_line line;
    if (balanced.kind == ALD_JSON_NONE)
        return;
    status_begin(&line);
    if (balanced.kind == ALD_JSON_NUMBER && pick_int(answer, "/status/balanced") == 1) {
        ald_buf_put_str(&line.text, "the tracker's balance; 'aldaba audit' compares all of them");
    } else {
        ald_buf_printf(&line.text, "do NOT balance: %s; see 'aldaba audit'",
                       pick_word(answer, "/status/balanced", which, sizeof which));
        line.tone = TONE_BAD;
    }
    status_end(ctl, "books", &line);
}

/* Does a figure have this name, NAME.tail? *name_len: of NAME. */
static bool status_tail(struct ald_span key, const char *tail, size_t *name_len)
{
    size_t len = strlen(tail);
    if (key.len <= len || !ald_span_eq_str(ald_span_skip(key, key.len - len), tail))
        return false;
    *name_len = key.len - len;
    return true;
}

/* What keeps a provider from being asked. False: this figure says nothing of the kind. */
static bool status_provider(struct status_line *line, struct ald_span key, int64_t value)
{
    const char *name = (const char *)key.data;
    size_t len = 0;
    if (value <= 0)
        return false;
    if (status_tail(key, ".paused", &len)) {
        ald_buf_printf(&line->text, "%.*s is paused by a person: 'aldaba provider resume %.*s'",
                       (int)len, name, (int)len, name);
    } else if (status_tail(key, ".in_trouble", &len)) {
        ald_buf_printf(&line->text, "%.*s is in trouble: it is asked once in a while", (int)len,
                       name);
    } else if (status_tail(key, ".blocked_ms", &len)) {
        ald_buf_printf(&line->text, "%.*s is not asked for another ", (int)len, name);
        status_age(line, value);
        ald_buf_put_str(&line->text, ": it refuses the account");
    } else {
        return false;
    }
    line->tone = TONE_BAD;
    return true;
}

/* What keeps a sink from being posted to. */
static bool status_sink(struct status_line *line, struct ald_span key, int64_t value)
{
    const char *name = (const char *)key.data;
    size_t len = 0;
    if (value <= 0)
        return false;
    if (status_tail(key, ".paused", &len))
        ald_buf_printf(&line->text,
                       "%.*s answered 410: left alone until settings are read again (SIGHUP)",
                       (int)len, name);
    else if (status_tail(key, ".down", &len))
        ald_buf_printf(&line->text, "%.*s is down: it is tried once in a while", (int)len, name);
    else
        return false;
    line->tone = TONE_BAD;
    return true;
}

typedef bool status_trouble(struct status_line *line, struct ald_span key, int64_t value);

/* A line for each of a group's figures that tells of trouble. */
static void status_troubles(struct ctl *ctl, struct ald_json group, const char *title,
                            status_trouble *tell)
{
    struct ald_json_walk walk = ald_json_walk_begin(group);
    struct ald_json value;
    struct ald_span key;
    int shown = 0;
    while (ald_json_walk_next(&walk, &key, &value) && shown < STATUS_TROUBLES_MAX) {
        struct status_line line;
        status_begin(&line);
        key = ald_span_of(key.data + 1, key.len - 2); /* without its quotes */
        if (tell(&line, key, pick_int(value, ""))) {
            status_end(ctl, title, &line);
            shown++;
        } else {
            ald_buf_free(&line.text);
        }
    }
}

/* Who still goes by older settings, and why. */
static void status_settings(struct ctl *ctl, struct ald_json answer)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/settings"));
    struct ald_json value;
    struct ald_span key;
    while (ald_json_walk_next(&walk, &key, &value)) {
        char text[STATUS_LINE_MAX / 2];
        struct status_line line;
        status_begin(&line);
        key = ald_span_of(key.data + 1, key.len - 2);
        ald_buf_printf(&line.text, "%.*s: %s", (int)key.len, (const char *)key.data,
                       pick_word(value, "", text, sizeof text));
        line.tone = TONE_BAD;
        status_end(ctl, "settings", &line);
    }
}

static void status_print(struct ctl *ctl, struct ald_json answer)
{
    char head[160];
    bool tracker = !pick_has(answer, "/away", "tracker");
    status_services(ctl, answer);
    if (tracker) {
        status_tasks(ctl, answer);
        status_callbacks(ctl, answer);
    }
    status_spool(ctl, answer);
    if (!pick_has(answer, "/away", "dlq"))
        status_letters(ctl, answer);
    ctl_line(ctl, "feed head", pick_word(answer, "/status/head", head, sizeof head), TONE_PLAIN);
    status_books(ctl, answer);
    status_troubles(ctl, ald_json_find(answer, "/provider"), "provider", status_provider);
    status_troubles(ctl, ald_json_find(answer, "/consumer"), "sink", status_sink);
    status_settings(ctl, answer);
    if (pick_int(answer, "/status/hold") != 0)
        ctl_line(ctl, "hold", "no task expires yet: spools of gateways are waited for", TONE_WAIT);
}

int status_show(struct ctl *ctl, const struct args *args)
{
    struct ald_json answer;
    struct api_request request = {.path = "/v1/status", .timeout_ms = STATUS_ASK_MS};
    (void)args;
    int code = ctl_ask(ctl, &request, &answer);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl))
        pick_line(answer, &ctl->out);
    else
        status_print(ctl, answer);
    return CTL_OK;
}

/* Bulk replays: begin one and follow it, list, look, command. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/desk.h"

enum {
    REPLAYS_ASK_MS = 15000,
    REPLAYS_BODY_MAX = 8192,
    REPLAYS_PATH_MAX = 512,
    REPLAYS_LIMIT = 50,
    REPLAYS_LOOK_MS = 500,
    REPLAYS_SAY_MS = 10000,
    REPLAYS_BAR = 24,
    REPLAYS_ID_MAX = 32
};

/* ---- how one stands ---- */

static void replays_head(struct ctl *ctl, struct ald_json replay)
{
    static const char *const lines[][2] = {
        {"replay", "/id"},
        {"state", "/state"},
        {"waits for", "/note"},
        {"reason", "/filter/reason"},
        {"provider", "/filter/provider"},
        {"letters", "/filter/state"},
        {"task", "/filter/task"},
        {"text", "/filter/q"},
        {"consumer", "/filter/consumer"},
        {"rate", "/rate"},
        {"dry run", "/dry_run"},
        {"believe", "/believe"},
        {"buy", "/buy"},
        {"publish", "/publish"},
        {"by", "/by"},
        {"to look at", "/total"},
        {"looked at", "/scanned"},
        {"match", "/seen"},
        {"tried", "/replayed"},
        {"answered", "/answered"},
        {"skipped", "/skipped"},
    };
    static const char *const times[][2] = {{"since", "/filter/since"},
                                           {"until", "/filter/until"},
                                           {"made", "/made_ms"},
                                           {"begun", "/begun_ms"},
                                           {"ended", "/ended_ms"}};
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        ctl_line(ctl, lines[i][0], pick_word(replay, lines[i][1], word, sizeof word), TONE_PLAIN);
    for (size_t i = 0; i < ALD_COUNT(times); i++)
        ctl_line(ctl, times[i][0], pick_time(replay, times[i][1], at), TONE_PLAIN);
}

static void replays_counts(struct ctl *ctl, struct ald_json replay)
{
    static const char *const heads[] = {">letters", "result", "reason", "why"};
    static const char *const members[] = {"/count", "/result", "/reason", "/why"};
    struct ald_json count;
    struct ald_span key;
    char word[TABLE_CELL_MAX + 1];
    table_t *table = table_new(heads, ALD_COUNT(heads));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(replay, "/counts"));
    while (ald_json_walk_next(&walk, &key, &count))
        for (size_t i = 0; i < ALD_COUNT(members); i++)
            table_put_str(table, pick_word(count, members[i], word, sizeof word), TONE_PLAIN);
    if (table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
}

static void replays_show(struct ctl *ctl, struct ald_json replay)
{
    if (ctl_json(ctl)) {
        pick_line(replay, &ctl->out);
        return;
    }
    replays_head(ctl, replay);
    ald_buf_put_byte(&ctl->out, '\n');
    replays_counts(ctl, replay);
}

static int replays_ask(struct ctl *ctl, const char *method, const char *id, const char *tail,
                       struct ald_json *out)
{
    struct ald_buf path;
    struct ald_buf body;
    ald_buf_init(&path, REPLAYS_PATH_MAX);
    ald_buf_init(&body, REPLAYS_BODY_MAX);
    ald_buf_put_str(&path, "/v1/replays");
    ctl_path(&path, id);
    ald_buf_put_str(&path, tail);
    desk_body(ctl->args, &body);
    ald_buf_put_byte(&body, '}');
    struct api_request request = {.method = method,
                                  .path = ald_buf_str(&path),
                                  .body = method != NULL ? ald_buf_str(&body) : NULL,
                                  .timeout_ms = REPLAYS_ASK_MS};
    int code = method != NULL ? ctl_ask(ctl, &request, out) : ctl_ask_again(ctl, &request, out);
    ald_buf_free(&body);
    ald_buf_free(&path);
    return code;
}

/* ---- follow one ---- */

struct replays_follow {
    struct ctl *ctl;
    char id[REPLAYS_ID_MAX];
    bool bar; /* stderr is a terminal */
    int64_t said_ms;
    sigset_t stop; /* blocked, and waited for */
};

static void replays_progress(const struct replays_follow *self, struct ald_json replay)
{
    char state[33];
    char note[160];
    char bar[REPLAYS_BAR + 1];
    int64_t total = pick_int(replay, "/total");
    int64_t scanned = pick_int(replay, "/scanned");
    int64_t done = total > 0 && scanned < total ? scanned : total;
    int64_t percent = total > 0 ? done * 100 / total : 100;
    size_t filled = total > 0 ? (size_t)(done * REPLAYS_BAR / total) : REPLAYS_BAR;
    memset(bar, '-', sizeof bar - 1);
    memset(bar, '#', filled);
    bar[REPLAYS_BAR] = '\0';
    (void)pick_word(replay, "/state", state, sizeof state);
    (void)pick_word(replay, "/note", note, sizeof note);
    (void)fprintf(stderr,
                  "%s%s%s%s%3lld%% %s: %lld of %lld looked at, %lld tried, %lld answered, "
                  "%lld skipped%s%s%s",
                  self->bar ? "\r\x1b[K" : "aldaba: ", self->bar ? "[" : "", self->bar ? bar : "",
                  self->bar ? "] " : "", (long long)percent, CTL_SAFE(state), (long long)scanned,
                  (long long)total, (long long)pick_int(replay, "/replayed"),
                  (long long)pick_int(replay, "/answered"), (long long)pick_int(replay, "/skipped"),
                  note[0] != '\0' ? "; " : "", CTL_SAFE(note), self->bar ? "" : "\n");
}

/* Wait a little. True: somebody wants to stop looking. */
static bool replays_stopped(const struct replays_follow *self)
{
    const struct timespec wait = {.tv_nsec = REPLAYS_LOOK_MS * INT64_C(1000000)};
    return sigtimedwait(&self->stop, NULL, &wait) > 0;
}

static int replays_leave(const struct replays_follow *self)
{
    if (self->bar)
        (void)fputc('\n', stderr);
    ctl_say("It goes on by itself. 'aldaba dlq replays show %s' tells how far it is, 'aldaba dlq "
            "replays cancel %s' ends it.",
            self->id, self->id);
    return CTL_AGAIN;
}

static int replays_ended(const struct replays_follow *self, struct ald_json replay,
                         const char *state)
{
    struct ctl *ctl = self->ctl;
    if (self->bar)
        (void)fputc('\n', stderr);
    if (ctl_json(ctl))
        pick_line(replay, &ctl->out);
    else if (!args_has(ctl->args, ARG_QUIET))
        replays_counts(ctl, replay);
    if (strcmp(state, "done") == 0)
        return CTL_OK;
    ctl_say("The bulk replay %s was cancelled.", self->id);
    return CTL_FAILED;
}

/* Until it has ended, or Ctrl-C: the dlq does the work, and needs nobody to watch. */
static int replays_watch(struct replays_follow *self)
{
    struct ald_json replay;
    char state[33];
    bool quiet = args_has(self->ctl->args, ARG_QUIET);
    for (;;) {
        int code = replays_ask(self->ctl, NULL, self->id, "", &replay);
        if (code != CTL_OK && code != CTL_AGAIN)
            return code;
        int64_t now_ms = ald_clock_now().mono_ms;
        bool known = code == CTL_OK;
        (void)(known ? pick_word(replay, "/state", state, sizeof state) : NULL);
        bool over = known && (strcmp(state, "done") == 0 || strcmp(state, "cancelled") == 0);
        if (known && !quiet && (self->bar || over || now_ms - self->said_ms >= REPLAYS_SAY_MS)) {
            replays_progress(self, replay);
            self->said_ms = now_ms;
        }
        if (over)
            return replays_ended(self, replay, state);
        if (replays_stopped(self))
            return replays_leave(self);
    }
}

static int replays_follow(struct ctl *ctl, struct ald_json made)
{
    struct replays_follow self = {
        .ctl = ctl, .bar = isatty(STDERR_FILENO) != 0, .said_ms = ald_clock_now().mono_ms};
    sigset_t before;
    (void)pick_word(made, "/id", self.id, sizeof self.id);
    if (!args_has(ctl->args, ARG_QUIET))
        ctl_say("bulk replay %s", CTL_SAFE(self.id));
    (void)sigemptyset(&self.stop);
    (void)sigaddset(&self.stop, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &self.stop, &before);
    int code = replays_watch(&self);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* ---- begin one ---- */

static void replays_member(struct ald_buf *body, const char *name, const char *value)
{
    if (value == NULL)
        return;
    ald_buf_printf(body, ",\"%s\":", name);
    desk_string(body, ald_span_str(value));
}

/* False: a time is none, and that was said. */
static bool replays_body(const struct args *args, struct ald_buf *body)
{
    int64_t since_ms = 0;
    int64_t until_ms = 0;
    if (!desk_time(args, ARG_SINCE, &since_ms) || !desk_time(args, ARG_UNTIL, &until_ms))
        return false;
    desk_body(args, body);
    replays_member(body, "reason", args->text[ARG_REASON]);
    replays_member(body, "provider", args->text[ARG_PROVIDER]);
    replays_member(body, "state", args->text[ARG_STATE]);
    replays_member(body, "task", args->text[ARG_TASK]);
    replays_member(body, "q", args->text[ARG_FIND]);
    replays_member(body, "consumer", args->text[ARG_CONSUMER]);
    if (since_ms != 0)
        ald_buf_printf(body, ",\"since\":%lld", (long long)since_ms);
    if (until_ms != 0)
        ald_buf_printf(body, ",\"until\":%lld", (long long)until_ms);
    if (args_has(args, ARG_RATE))
        ald_buf_printf(body, ",\"rate\":%llu", (unsigned long long)args->number[ARG_RATE]);
    desk_words(args, body);
    ald_buf_put_byte(body, '}');
    return true;
}

int desk_replay_all(struct ctl *ctl, const struct args *args)
{
    struct ald_json made;
    struct ald_buf body;
    char question[128];
    int code = CTL_USAGE;
    ald_buf_init(&body, REPLAYS_BODY_MAX);
    if (!replays_body(args, &body))
        goto out;
    code = CTL_FAILED;
    (void)snprintf(question, sizeof question, "%s all dead letters that the filters leave?",
                   desk_replay_verb(args));
    if (!args_has(args, ARG_DRY_RUN) && !ctl_confirm(ctl, question))
        goto out;
    struct api_request request = {.method = "POST",
                                  .path = "/v1/dead-letters/replay",
                                  .body = ald_buf_str(&body),
                                  .timeout_ms = REPLAYS_ASK_MS};
    code = ctl_ask(ctl, &request, &made);
    if (code == CTL_OK)
        code = replays_follow(ctl, made);
out:
    ald_buf_free(&body);
    return code;
}

/* ---- list and command ---- */

static void replays_row(struct ald_json replay, table_t *table)
{
    static const char *const members[] = {
        "/id",       "/state",   "/dry_run", "/total", "/scanned",       "/replayed",
        "/answered", "/skipped", "/rate",    "/by",    "/filter/reason", "/filter/provider"};
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    for (size_t i = 0; i < ALD_COUNT(members); i++)
        table_put_str(table, pick_word(replay, members[i], word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_time(replay, "/made_ms", at), TONE_DIM);
}

static int replays_list(struct ctl *ctl, const struct args *args)
{
    static const char *const heads[] = {"replay", "state",     "dry",      ">to look at", ">done",
                                        ">tried", ">answered", ">skipped", ">rate",       "by",
                                        "reason", "provider",  "made"};
    struct ald_json page;
    struct ald_json replay;
    struct ald_span key;
    char path[64];
    uint64_t limit = args_has(args, ARG_LIMIT) ? args->number[ARG_LIMIT] : REPLAYS_LIMIT;
    (void)snprintf(path, sizeof path, "/v1/replays?limit=%llu", (unsigned long long)limit);
    struct api_request request = {.path = path, .timeout_ms = REPLAYS_ASK_MS};
    int code = ctl_ask(ctl, &request, &page);
    if (code != CTL_OK)
        return code;
    table_t *table = table_new(heads, ALD_COUNT(heads));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(page, "/replays"));
    while (ald_json_walk_next(&walk, &key, &replay)) {
        if (ctl_json(ctl))
            pick_line(replay, &ctl->out);
        else
            replays_row(replay, table);
    }
    if (table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    else if (!ctl_json(ctl))
        ctl_say("There are no bulk replays.");
    table_destroy(&table);
    return CTL_OK;
}

int desk_replays(struct ctl *ctl, const struct args *args)
{
    static const struct {
        const char *word, *method, *tail;
    } deeds[] = {{"show", NULL, ""},
                 {"pause", "POST", "/pause"},
                 {"resume", "POST", "/resume"},
                 {"cancel", "DELETE", ""}};
    struct ald_json replay;
    const char *word = args->word[0];
    if (strcmp(word, "ls") == 0 && args->words == 1)
        return replays_list(ctl, args);
    size_t i = 0;
    while (i < ALD_COUNT(deeds) && strcmp(deeds[i].word, word) != 0)
        i++;
    if (i == ALD_COUNT(deeds) || args->words != 2) {
        ctl_say("Use it so: aldaba dlq replays ls, or aldaba dlq replays show|pause|resume|cancel "
                "REPLAY.");
        return CTL_USAGE;
    }
    int code = replays_ask(ctl, deeds[i].method, args->word[1], deeds[i].tail, &replay);
    if (code == CTL_AGAIN && deeds[i].method == NULL)
        ctl_say("Nobody answers, or not now: try again in a moment.");
    if (code == CTL_OK)
        replays_show(ctl, replay);
    return code;
}

/* Commands about tasks: reserve, register, attach, show, list, cancel. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/clock.h"
#include "services/ctl/commands.h"

enum {
    TASK_ASK_MS = 30000,
    TASK_WAIT_S = 30, /* one long poll */
    TASK_REST_MS = 1000,
    TASK_AWAY_FIRST_MS = 250, /* the gateway is gone: ask again after this, then ever later */
    TASK_AWAY_MAX_MS = 5000,
    TASK_PAGE = 500,
    TASK_LIMIT = 50,
    TASK_BODY_MAX = 64 << 10,
    TASK_SUBMIT_MAX = 1 << 20
};

static const char *const TASK_STATES_ENDED[] = {"done", "failed", "lost", "expired", "cancelled"};

static bool task_ended(struct ald_json task)
{
    for (size_t i = 0; i < ALD_COUNT(TASK_STATES_ENDED); i++)
        if (ald_json_is(ald_json_find(task, "/state"), TASK_STATES_ENDED[i]))
            return true;
    return false;
}

/* A JSON object of texts; a pair whose value is NULL is left out. Freed by the caller. */
static char *task_body(const char *const pairs[][2], size_t count)
{
    json_t *object = json_object();
    char *body = NULL;
    for (size_t i = 0; i < count; i++) {
        if (pairs[i][1] == NULL)
            continue;
        if (json_object_set_new(object, pairs[i][0], json_string(pairs[i][1])) != 0) {
            ctl_say("The value for %s is not UTF-8.", pairs[i][0]);
            goto out;
        }
    }
    body = json_dumps(object, JSON_COMPACT);
out:
    json_decref(object);
    return body;
}

static int task_post(struct ctl *ctl, const char *path, const char *const pairs[][2], size_t count,
                     struct ald_json *out)
{
    char *body = task_body(pairs, count);
    if (body == NULL)
        return CTL_USAGE;
    struct api_request request = {.method = "POST",
                                  .path = path,
                                  .body = body,
                                  .key = ctl->args->text[ARG_KEY],
                                  .timeout_ms = TASK_ASK_MS};
    int code = ctl_ask(ctl, &request, out);
    free(body);
    return code;
}

/* ---- showing one ---- */

static void task_line(struct ctl *ctl, struct ald_json task, const char *name, const char *pointer)
{
    struct ald_buf text;
    ald_buf_init(&text, API_ANSWER_MAX);
    pick_text(task, pointer, &text);
    ctl_line(ctl, name, ald_buf_str(&text), TONE_PLAIN);
    ald_buf_free(&text);
}

static void task_time(struct ctl *ctl, struct ald_json task, const char *name, const char *pointer)
{
    char text[PICK_TIME_MAX];
    ctl_line(ctl, name, pick_time(task, pointer, text), TONE_PLAIN);
}

static void task_state_line(struct ctl *ctl, struct ald_json task)
{
    char state[33];
    char source[PICK_SOURCE_MAX];
    char text[80];
    (void)pick_word(task, "/state", state, sizeof state);
    (void)pick_source(task, source);
    (void)snprintf(text, sizeof text, "%s%s%s", state, source[0] ? ", by " : "", source);
    ctl_line(ctl, "state", text, ctl_tone(state));
}

static void task_timeline(struct ctl *ctl, struct ald_json task)
{
    static const char *const heads[] = {"time", "what", "text"};
    table_t *table = table_new(heads, ALD_COUNT(heads));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(task, "/timeline"));
    struct ald_json note;
    struct ald_span key;
    char word[TABLE_CELL_MAX];
    while (ald_json_walk_next(&walk, &key, &note)) {
        char at[PICK_TIME_MAX];
        table_put_str(table, pick_time(note, "/at_ms", at), TONE_PLAIN);
        table_put_str(table, pick_word(note, "/what", word, sizeof word), TONE_PLAIN);
        table_put_str(table, pick_word(note, "/text", word, sizeof word), TONE_PLAIN);
    }
    if (table_rows(table) > 0) {
        ald_buf_put_byte(&ctl->out, '\n');
        table_write(table, ctl->color, &ctl->out);
    }
    table_destroy(&table);
}

static void task_print(struct ctl *ctl, struct ald_json task)
{
    if (ctl_json(ctl)) {
        pick_line(task, &ctl->out);
        return;
    }
    task_line(ctl, task, "task", "/id");
    task_state_line(ctl, task);
    task_line(ctl, task, "provider", "/provider");
    task_line(ctl, task, "its id", "/provider_id");
    task_line(ctl, task, "key", "/key");
    task_line(ctl, task, "meta", "/meta");
    task_line(ctl, task, "code", "/code");
    task_line(ctl, task, "result", "/result");
    task_line(ctl, task, "result (b64)", "/result_base64");
    task_time(ctl, task, "created", "/created_ms");
    task_time(ctl, task, "ended", "/ended_ms");
    bool never_polled = ald_json_find(task, "/never_polled").kind == ALD_JSON_TRUE;
    task_time(ctl, task, never_polled ? "late from" : "polled from", "/stale_at_ms");
    task_time(ctl, task, "given up at", "/give_up_at_ms");
    task_line(ctl, task, "polls", "/polls");
    task_line(ctl, task, "submitted", "/attempts");
    task_line(ctl, task, "resubmitted", "/resubmits");
    task_line(ctl, task, "callback URL", "/callback_url");
    task_timeline(ctl, task);
}

typedef int task_ask_fn(struct ctl *ctl, const struct api_request *request, struct ald_json *out);

static int task_get(struct ctl *ctl, const char *id, bool wait, task_ask_fn *ask,
                    struct ald_json *out)
{
    struct ald_buf path;
    ald_buf_init(&path, TASK_BODY_MAX);
    ald_buf_put_str(&path, "/v1/tasks");
    ctl_path(&path, id);
    if (wait)
        ald_buf_printf(&path, "?wait=%d", TASK_WAIT_S);
    struct api_request request = {.path = ald_buf_str(&path),
                                  .timeout_ms = TASK_ASK_MS + (wait ? TASK_WAIT_S * 1000 : 0)};
    int code = ask(ctl, &request, out);
    ald_buf_free(&path);
    return code;
}

/* One long poll. A gateway that went away while we wait comes back: it is asked until it does. */
static int task_get_patient(struct ctl *ctl, const char *id, struct ald_json *out)
{
    int64_t pause_ms = TASK_AWAY_FIRST_MS;
    int code = task_get(ctl, id, true, ctl_ask_again, out);
    if (code == CTL_AGAIN && !args_has(ctl->args, ARG_QUIET))
        ctl_say("The gateway does not answer; asking for task %s until it does.", CTL_SAFE(id));
    while (code == CTL_AGAIN) {
        ctl_pause(pause_ms);
        pause_ms = 2 * pause_ms < TASK_AWAY_MAX_MS ? 2 * pause_ms : TASK_AWAY_MAX_MS;
        code = task_get(ctl, id, true, ctl_ask_again, out);
    }
    return code;
}

/* Long polls, one after the other, until the task has ended. A gateway without room for one more
 * waiter answers at once. known: the gateway was there before; else one that is not is a reason to
 * give up. */
static int task_until_ended(struct ctl *ctl, const char *id, bool known, struct ald_json *out)
{
    for (;;) {
        int64_t begun_ms = ald_clock_now().mono_ms;
        int code = known ? task_get_patient(ctl, id, out) : task_get(ctl, id, true, ctl_ask, out);
        if (code != CTL_OK || task_ended(*out))
            return code;
        known = true;
        if (ald_clock_now().mono_ms - begun_ms < TASK_REST_MS)
            ctl_pause(TASK_REST_MS);
    }
}

/* Who waits for a task asks with the exit code whether it is done. */
static int task_code(struct ald_json task)
{
    return ald_json_is(ald_json_find(task, "/state"), "done") ? CTL_OK : CTL_FAILED;
}

int task_show(struct ctl *ctl, const struct args *args)
{
    struct ald_json task;
    bool wait = args_has(args, ARG_WAIT);
    int code = wait ? task_until_ended(ctl, args->word[0], false, &task)
                    : task_get(ctl, args->word[0], false, ctl_ask, &task);
    if (code != CTL_OK)
        return code;
    task_print(ctl, task);
    return wait ? task_code(task) : CTL_OK;
}

/* ---- making ---- */

static void task_made(struct ctl *ctl, struct ald_json task, const struct args *args)
{
    char id[32];
    (void)pick_word(task, "/id", id, sizeof id);
    if (args_has(args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%s\n", CTL_SAFE(id));
    else
        task_print(ctl, task);
}

/* The task was made. With --wait its id is told first: it must not be lost with us. */
static int task_made_wait(struct ctl *ctl, struct ald_json task, const char *made,
                          const struct args *args)
{
    char id[32];
    if (!args_has(args, ARG_WAIT)) {
        task_made(ctl, task, args);
        return CTL_OK;
    }
    (void)pick_word(task, "/id", id, sizeof id);
    if (args_has(args, ARG_QUIET)) {
        task_made(ctl, task, args);
        ctl_flush(ctl);
    } else {
        ctl_say("Task %s is %s; waiting for its end.", CTL_SAFE(id), made);
    }
    int code = task_until_ended(ctl, id, true, &task);
    if (code != CTL_OK)
        return code;
    if (!args_has(args, ARG_QUIET))
        task_print(ctl, task);
    return task_code(task);
}

int task_reserve(struct ctl *ctl, const struct args *args)
{
    const char *const pairs[][2] = {{"provider", args->word[0]}, {"meta", args->text[ARG_META]}};
    struct ald_json task;
    int code = task_post(ctl, "/v1/tasks", pairs, ALD_COUNT(pairs), &task);
    if (code == CTL_OK)
        task_made(ctl, task, args);
    return code;
}

int task_register(struct ctl *ctl, const struct args *args)
{
    const char *const pairs[][2] = {{"provider", args->word[0]},
                                    {"provider_id", args->word[1]},
                                    {"meta", args->text[ARG_META]}};
    struct ald_json task;
    int code = task_post(ctl, "/v1/tasks", pairs, ALD_COUNT(pairs), &task);
    return code == CTL_OK ? task_made_wait(ctl, task, "registered", args) : code;
}

int task_submit(struct ctl *ctl, const struct args *args)
{
    struct ald_buf body;
    struct ald_json task;
    ald_buf_init(&body, TASK_SUBMIT_MAX);
    int code = submit_body(args, &body) ? CTL_OK : CTL_USAGE;
    if (code == CTL_OK && args_has(args, ARG_DRY_RUN)) {
        ald_buf_printf(&ctl->out, "%s\n", ald_buf_str(&body));
        ald_buf_free(&body);
        return CTL_OK;
    }
    struct api_request request = {.method = "POST",
                                  .path = "/v1/tasks",
                                  .body = ald_buf_str(&body),
                                  .key = args->text[ARG_KEY],
                                  .timeout_ms = TASK_ASK_MS};
    if (code == CTL_OK)
        code = ctl_ask(ctl, &request, &task);
    ald_buf_free(&body);
    return code == CTL_OK ? task_made_wait(ctl, task, "taken", args) : code;
}

static int task_command(struct ctl *ctl, const char *verb, const char *const pairs[][2],
                        size_t count)
{
    struct ald_json answer;
    struct ald_buf path;
    ald_buf_init(&path, TASK_BODY_MAX);
    ald_buf_put_str(&path, "/v1/tasks");
    ctl_path(&path, ctl->args->word[0]);
    ctl_path(&path, verb);
    int code = task_post(ctl, ald_buf_str(&path), pairs, count, &answer);
    if (code == CTL_OK && answer.kind == ALD_JSON_OBJECT && !args_has(ctl->args, ARG_QUIET))
        task_print(ctl, answer);
    ald_buf_free(&path);
    return code;
}

int task_attach(struct ctl *ctl, const struct args *args)
{
    const char *const pairs[][2] = {{"provider_id", args->word[1]}};
    return task_command(ctl, "attach", pairs, ALD_COUNT(pairs));
}

int task_cancel(struct ctl *ctl, const struct args *args)
{
    const char *const none[][2] = {{"", NULL}};
    (void)args;
    if (!ctl_confirm(ctl, "Stop waiting? An answer that comes later is not published."))
        return CTL_FAILED;
    return task_command(ctl, "cancel", none, ALD_COUNT(none));
}

/* ---- lists ---- */

static const char *const TASK_HEADS[] = {"task",   "state", "by",      "provider",
                                         "its id", "key",   "created", "result or code"};

static void task_row(struct ald_json task, table_t *table)
{
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    char state[33];
    char source[PICK_SOURCE_MAX];
    (void)pick_word(task, "/state", state, sizeof state);
    table_put_str(table, pick_word(task, "/id", word, sizeof word), TONE_PLAIN);
    table_put_str(table, state, ctl_tone(state));
    table_put_str(table, pick_source(task, source), TONE_PLAIN);
    table_put_str(table, pick_word(task, "/provider", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(task, "/provider_id", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(task, "/key", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_time(task, "/created_ms", at), TONE_DIM);
    const char *said = strcmp(state, "done") == 0 ? "/result" : "/code";
    table_put_str(table, pick_word(task, said, word, 41), TONE_PLAIN);
}

static void task_list_path(const struct args *args, const char *cursor, uint64_t limit,
                           struct ald_buf *path)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)limit);
    ald_buf_put_str(path, "/v1/tasks");
    ctl_query(path, "limit", number);
    ctl_query(path, "state", args->text[ARG_STATE]);
    ctl_query(path, "provider", args->text[ARG_PROVIDER]);
    ctl_query(path, "q", args->text[ARG_FIND]);
    ctl_query(path, "cursor", cursor[0] ? cursor : NULL);
}

static void task_page_print(struct ctl *ctl, struct ald_json page, uint64_t *seen)
{
    struct ald_json task;
    struct ald_span key;
    char id[32];
    table_t *table = table_new(TASK_HEADS, ALD_COUNT(TASK_HEADS));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(page, "/tasks"));
    for (; ald_json_walk_next(&walk, &key, &task); (*seen)++) {
        if (ctl_json(ctl))
            pick_line(task, &ctl->out);
        else if (args_has(ctl->args, ARG_QUIET))
            ald_buf_printf(&ctl->out, "%s\n", CTL_SAFE(pick_word(task, "/id", id, sizeof id)));
        else
            task_row(task, table);
    }
    if (table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
    ctl_flush(ctl);
}

/* One page. cursor becomes where the next one begins, "" = there is none. */
static int task_page(struct ctl *ctl, uint64_t limit, char *cursor, size_t cap, uint64_t *seen)
{
    struct ald_json page;
    struct ald_buf path;
    ald_buf_init(&path, TASK_BODY_MAX);
    task_list_path(ctl->args, cursor, limit, &path);
    struct api_request request = {.path = ald_buf_str(&path), .timeout_ms = TASK_ASK_MS};
    int code = ctl_ask(ctl, &request, &page);
    ald_buf_free(&path);
    if (code != CTL_OK)
        return code;
    task_page_print(ctl, page, seen);
    (void)pick_word(page, "/cursor", cursor, cap);
    return CTL_OK;
}

int task_list(struct ctl *ctl, const struct args *args)
{
    uint64_t limit = args_has(args, ARG_LIMIT) ? args->number[ARG_LIMIT] : TASK_LIMIT;
    char cursor[192] = "";
    uint64_t seen = 0;
    int code;
    do {
        uint64_t want = limit == 0 || limit - seen > TASK_PAGE ? TASK_PAGE : limit - seen;
        code = task_page(ctl, want, cursor, sizeof cursor, &seen);
    } while (code == CTL_OK && cursor[0] != '\0' && (limit == 0 || seen < limit));
    if (code == CTL_OK && seen == 0) {
        ctl_say("There are no such tasks.");
        code = ctl_provider_known(ctl, args->text[ARG_PROVIDER]);
    }
    if (code == CTL_OK && cursor[0] != '\0' && !args_has(args, ARG_QUIET))
        ctl_say("There are more: --limit N, or --limit 0 for all.");
    return code;
}

/* Dead letters that are alike, counted; and what the desk's commands share. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/desk.h"

enum { GROUPS_ASK_MS = 30000, GROUPS_PATH_MAX = 4096, GROUPS_MAX = 10000, GROUPS_STEP = 256 };

/* ---- shared ---- */

/* A day, or a second of one, in UTC. */
static bool desk_time_date(const char *text, int64_t *out)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"};
    for (size_t i = 0; i < ALD_COUNT(forms); i++) {
        struct tm parts = {0};
        const char *end = strptime(text, forms[i], &parts);
        if (end == NULL || *end != '\0')
            continue;
        *out = (int64_t)timegm(&parts) * 1000;
        return true;
    }
    return false;
}

bool desk_time(const struct args *args, enum arg arg, int64_t *out)
{
    int64_t ago_ms = 0;
    uint64_t at_ms = 0;
    const char *text = args->text[arg];
    *out = 0;
    if (text == NULL)
        return true;
    bool known = true;
    if (ald_text_u64(ald_span_str(text), &at_ms) == ALD_OK)
        *out = (int64_t)at_ms;
    else if (ald_text_duration_ms(ald_span_str(text), &ago_ms) == ALD_OK)
        *out = ald_clock_now().wall_ms - ago_ms;
    else
        known = desk_time_date(text, out);
    if (known && *out > 0)
        return true;
    ctl_say("%s is no time: say how long ago (2h, 7d), 2026-01-31T12:00:00Z, 2026-01-31, or "
            "milliseconds since 1970.",
            CTL_SAFE(text));
    return false;
}

void desk_string(struct ald_buf *out, struct ald_span text)
{
    json_t *value = json_stringn((const char *)text.data, text.len);
    char *written = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    ald_buf_put_str(out, written != NULL ? written : "\"?\"");
    free(written);
    json_decref(value);
}

void desk_body(const struct args *args, struct ald_buf *out)
{
    char name[33];
    const char *login = getenv("USER");
    const char *by = args->text[ARG_BY] ? args->text[ARG_BY] : login;
    ald_text_cut(name, sizeof name, ald_span_str(by != NULL && by[0] != '\0' ? by : "aldaba"));
    ald_buf_put_str(out, "{\"by\":");
    desk_string(out, ald_span_str(name));
}

/* ---- groups ---- */

struct group {
    int64_t count;
    char reason[33];
    char provider[33];
    char example[32];
    char oldest[PICK_TIME_MAX];
    char newest[PICK_TIME_MAX];
    char cause[TABLE_CELL_MAX + 1];
};

struct groups {
    size_t count;
    struct group *group;
};

static void groups_add(struct groups *self, struct ald_json json)
{
    if (self->count == GROUPS_MAX)
        return;
    if (self->count % GROUPS_STEP == 0) {
        self->group = realloc(self->group, (self->count + GROUPS_STEP) * sizeof *self->group);
        ALD_ASSERT(self->group != NULL);
    }
    struct group *group = &self->group[self->count++];
    group->count = pick_int(json, "/count");
    (void)pick_word(json, "/reason", group->reason, sizeof group->reason);
    (void)pick_word(json, "/provider", group->provider, sizeof group->provider);
    (void)pick_word(json, "/example", group->example, sizeof group->example);
    (void)pick_word(json, "/cause", group->cause, sizeof group->cause);
    (void)pick_time(json, "/oldest_ms", group->oldest);
    (void)pick_time(json, "/newest_ms", group->newest);
}

static int groups_larger(const void *a, const void *b)
{
    const struct group *left = a;
    const struct group *right = b;
    return (left->count < right->count) - (left->count > right->count);
}

static void groups_write(struct ctl *ctl, struct groups *self)
{
    static const char *const heads[] = {">letters", "reason",  "provider", "oldest",
                                        "newest",   "example", "cause"};
    char number[24];
    table_t *table = table_new(heads, ALD_COUNT(heads));
    qsort(self->group, self->count, sizeof *self->group, groups_larger);
    for (size_t i = 0; i < self->count; i++) {
        const struct group *group = &self->group[i];
        (void)snprintf(number, sizeof number, "%lld", (long long)group->count);
        table_put_str(table, number, TONE_PLAIN);
        table_put_str(table, group->reason, TONE_PLAIN);
        table_put_str(table, group->provider, TONE_PLAIN);
        table_put_str(table, group->oldest, TONE_DIM);
        table_put_str(table, group->newest, TONE_DIM);
        table_put_str(table, group->example, TONE_PLAIN);
        table_put_str(table, group->cause, TONE_PLAIN);
    }
    table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
}

static void groups_path(const struct args *args, const char *cursor, struct ald_buf *path)
{
    ald_buf_reset(path);
    ald_buf_put_str(path, "/v1/dead-letters?group=1");
    ctl_query(path, "reason", args->text[ARG_REASON]);
    ctl_query(path, "provider", args->text[ARG_PROVIDER]);
    ctl_query(path, "state", args->text[ARG_STATE]);
    ctl_query(path, "task", args->text[ARG_TASK]);
    ctl_query(path, "since", args->text[ARG_SINCE]);
    ctl_query(path, "until", args->text[ARG_UNTIL]);
    ctl_query(path, "q", args->text[ARG_FIND]);
    ctl_query(path, "consumer", args->text[ARG_CONSUMER]);
    ctl_query(path, "cursor", cursor[0] != '\0' ? cursor : NULL);
}

static void groups_page(struct ctl *ctl, struct ald_json page, struct groups *groups)
{
    struct ald_json group;
    struct ald_span key;
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(page, "/groups"));
    while (ald_json_walk_next(&walk, &key, &group)) {
        if (ctl_json(ctl))
            pick_line(group, &ctl->out);
        groups_add(groups, group);
    }
}

int desk_groups(struct ctl *ctl, const struct args *args)
{
    struct groups groups = {0};
    struct ald_json page;
    struct ald_buf path;
    char cursor[192] = "";
    char note[192] = "";
    int code;
    ald_buf_init(&path, GROUPS_PATH_MAX);
    do {
        groups_path(args, cursor, &path);
        struct api_request request = {.path = ald_buf_str(&path), .timeout_ms = GROUPS_ASK_MS};
        code = ctl_ask(ctl, &request, &page);
        if (code != CTL_OK)
            break;
        groups_page(ctl, page, &groups);
        (void)pick_word(page, "/cursor", cursor, sizeof cursor);
        (void)pick_word(page, "/note", note, sizeof note);
    } while (cursor[0] != '\0');
    if (code == CTL_OK && groups.count > 0 && !ctl_json(ctl))
        groups_write(ctl, &groups);
    ctl_flush(ctl);
    if (note[0] != '\0')
        ctl_say("%s", CTL_SAFE(note));
    if (code == CTL_OK && groups.count == 0)
        ctl_say("There are no such dead letters.");
    if (groups.count == GROUPS_MAX)
        ctl_say("There are more groups than %d: narrow them by --reason or --provider.",
                GROUPS_MAX);
    free(groups.group);
    ald_buf_free(&path);
    return code;
}

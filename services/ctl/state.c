/* The books and the stores: audit, backup. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/progress.h"

enum {
    STATE_ASK_MS = 15000,
    STATE_DEEP_MS = 600000,
    STATE_BACKUP_MS = 3600000,
    STATE_NAME_MAX = 160,
    STATE_ANSWER_SHOWN = 4096,
    STATE_INDENT = 10,
    STATE_COLUMNS = 78
};

/* ---- figures: {"group": {"name": value}} ---- */

static void state_name(struct ald_span key, char *out, size_t cap)
{
    struct ald_buf text;
    struct ald_json name = {.kind = ALD_JSON_STRING, .raw = key};
    ald_buf_init(&text, STATE_NAME_MAX * 8);
    out[0] = '\0';
    if (ald_json_text(name, &text) == ALD_OK)
        ald_text_cut(out, cap, ald_buf_span(&text));
    ald_buf_free(&text);
}

static void state_value(struct ald_json value, struct ald_span name, char *out, size_t cap)
{
    int64_t number = 0;
    bool time = name.len > 6 && ald_span_eq_str(ald_span_skip(name, name.len - 6), "_at_ms");
    if (time && ald_text_i64(value.raw, &number) == ALD_OK) {
        if (number > 0)
            ald_clock_rfc3339(number, out);
        else
            ald_text_cut(out, cap, ald_span_str("-"));
        return;
    }
    (void)pick_word(value, "", out, cap);
}

/* What only programs compare. */
static bool state_hidden(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, "_xor") == 0;
}

/* "name value", on a new line when the last one is full. */
static void state_pair(struct ctl *ctl, const char *name, struct ald_json value, size_t *column)
{
    char text[TABLE_CELL_MAX];
    char pair[STATE_NAME_MAX + TABLE_CELL_MAX];
    state_value(value, ald_span_str(name), text, sizeof text);
    (void)snprintf(pair, sizeof pair, "%s %s", name, text);
    const char *safe = CTL_SAFE(pair);
    if (*column + 2 + strlen(safe) > STATE_COLUMNS && *column > STATE_INDENT) {
        ald_buf_printf(&ctl->out, "\n%*s", STATE_INDENT, "");
        *column = STATE_INDENT;
    }
    ald_buf_printf(&ctl->out, "  %s", safe);
    *column += 2 + strlen(safe);
}

static void state_title(struct ctl *ctl, const char *title)
{
    char padded[STATE_NAME_MAX];
    (void)snprintf(padded, sizeof padded, "%-*s", STATE_INDENT, CTL_SAFE(title));
    tone_write(&ctl->out, padded, TONE_DIM, ctl->color);
}

static void state_group(struct ctl *ctl, const char *title, struct ald_json group)
{
    struct ald_json_walk walk = ald_json_walk_begin(group);
    struct ald_json value;
    struct ald_span key;
    char name[STATE_NAME_MAX];
    size_t column = STATE_INDENT;
    state_title(ctl, title);
    while (ald_json_walk_next(&walk, &key, &value)) {
        state_name(key, name, sizeof name);
        if (!state_hidden(name))
            state_pair(ctl, name, value, &column);
    }
    ald_buf_put_byte(&ctl->out, '\n');
}

static int state_get(struct ctl *ctl, const char *path, int64_t timeout_ms, struct ald_json *out)
{
    struct api_request request = {.path = path, .timeout_ms = timeout_ms};
    return ctl_ask(ctl, &request, out);
}

/* ---- audit ---- */

/* The ledgers as sums: a total, and what it must be the sum of. */
static const struct state_ledger {
    const char *title;
    const char *total; /* pointer; NULL: the sum itself is the total */
    const char *word;
    const char *group;
    const char *parts[8]; /* one with a '-' in front is taken away */
} STATE_LEDGERS[] = {
    {"arrivals",
     "/arrivals/received",
     "received",
     "/arrivals",
     {"applied", "progress", "duplicate", "parked", "dead", "dropped"}},
    {"tasks",
     "/tasks/created",
     "created",
     "/tasks",
     {"open", "done", "failed", "lost", "expired", "cancelled"}},
    {"results",
     NULL,
     "written",
     "/results",
     {"callback", "late", "poll", "replay", "manual", "submit", "expired"}},
    {"corrections", NULL, "published", "/corrections", {"published"}},
    {"letters", "/letters/made", "made", "/letters", {"open", "resolved", "dropped"}},
    {"gateway",
     "/gateway/answered",
     "answered 2xx since its start",
     "/gateway",
     {"acknowledged", "spooled", "-unanswered"}},
};

/* Append " + 12 name"; what it adds to the sum. */
static int64_t state_part(struct ald_json group, const char *part, bool first, struct ald_buf *out)
{
    char pointer[STATE_NAME_MAX];
    bool minus = part[0] == '-';
    const char *name = part + (minus ? 1 : 0);
    (void)snprintf(pointer, sizeof pointer, "/%s", name);
    int64_t value = pick_int(group, pointer);
    ald_buf_printf(out, " %c %lld %s", first ? '=' : minus ? '-' : '+', (long long)value, name);
    return minus ? -value : value;
}

static void state_ledger(struct ctl *ctl, struct ald_json answer, const struct state_ledger *ledger)
{
    struct ald_json group = ald_json_find(answer, ledger->group);
    struct ald_buf sums;
    int64_t sum = 0;
    if (group.kind != ALD_JSON_OBJECT)
        return;
    ald_buf_init(&sums, STATE_ANSWER_SHOWN);
    for (size_t i = 0; ledger->parts[i] != NULL; i++)
        sum += state_part(group, ledger->parts[i], i == 0, &sums);
    int64_t total = ledger->total ? pick_int(answer, ledger->total) : sum;
    state_title(ctl, ledger->title);
    ald_buf_printf(&ctl->out, "  %lld %s%s\n", (long long)total, ledger->word, ald_buf_str(&sums));
    ald_buf_free(&sums);
}

static void state_problems(struct ctl *ctl, struct ald_json answer)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/problems"));
    struct ald_json problem;
    struct ald_span key;
    char text[512];
    while (ald_json_walk_next(&walk, &key, &problem))
        ctl_line(ctl, "problem", pick_word(problem, "", text, sizeof text), TONE_BAD);
}

int state_audit(struct ctl *ctl, const struct args *args)
{
    struct ald_json answer;
    bool deep = args_has(args, ARG_DEEP);
    int code = state_get(ctl, deep ? "/v1/audit?deep=1" : "/v1/audit",
                         deep ? STATE_DEEP_MS : STATE_ASK_MS, &answer);
    if (code != CTL_OK)
        return code;
    bool balanced = ald_json_find(answer, "/balanced").kind == ALD_JSON_TRUE;
    if (ctl_json(ctl)) {
        pick_line(answer, &ctl->out);
    } else if (!args_has(args, ARG_QUIET)) {
        for (size_t i = 0; i < ALD_COUNT(STATE_LEDGERS); i++)
            state_ledger(ctl, answer, &STATE_LEDGERS[i]);
        if (deep)
            state_group(ctl, "counted", ald_json_find(answer, "/recount"));
        state_problems(ctl, answer);
        tone_write(&ctl->out, balanced ? "the books balance\n" : "the books do not balance\n",
                   balanced ? TONE_GOOD : TONE_BAD, ctl->color);
    }
    return balanced ? CTL_OK : CTL_FAILED;
}

/* ---- backup ---- */

struct state_copying {
    struct progress progress;
    const char *dir;
};

/* What there is of the copy, where its folder can be seen from here. */
static bool state_copying(void *context)
{
    static const char *const files[] = {"tracker.db", "tracker.db.partial", "letters.db",
                                        "letters.db.partial"};
    struct state_copying *self = context;
    char path[ALD_PATH_MAX + 64];
    struct stat facts;
    uint64_t bytes = 0;
    for (size_t i = 0; i < ALD_COUNT(files); i++) {
        int n = snprintf(path, sizeof path, "%s.partial/%s", self->dir, files[i]);
        if (n > 0 && (size_t)n < sizeof path && stat(path, &facts) == 0)
            bytes += (uint64_t)facts.st_size;
    }
    progress_tell(&self->progress, bytes, 0);
    return true;
}

static int state_backup_to(struct ctl *ctl, const char *dir)
{
    struct ald_json answer;
    char text[512];
    json_t *object = json_pack("{s:s}", "dir", dir);
    char *body = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (body == NULL) {
        ctl_say("The name of the folder is not UTF-8.");
        return CTL_USAGE;
    }
    struct state_copying copying = {.dir = dir};
    struct api_request request = {.method = "POST",
                                  .path = "/v1/backup",
                                  .body = body,
                                  .timeout_ms = STATE_BACKUP_MS,
                                  .go_on = state_copying,
                                  .context = &copying};
    progress_begin(&copying.progress, "backup", args_has(ctl->args, ARG_QUIET));
    int code = ctl_ask(ctl, &request, &answer);
    progress_end(&copying.progress);
    free(body);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl))
        pick_line(answer, &ctl->out);
    else
        ctl_line(ctl, "copied to", pick_word(answer, "/dir", text, sizeof text), TONE_PLAIN);
    if (pick_word(answer, "/note", text, sizeof text)[0] != '\0')
        ctl_say("%s", CTL_SAFE(text));
    return CTL_OK;
}

/* The daemon's working folder is not ours: it gets a path from the root. */
int state_backup(struct ctl *ctl, const struct args *args)
{
    char here[ALD_PATH_MAX];
    struct ald_buf dir;
    ald_buf_init(&dir, 2 * ALD_PATH_MAX);
    if (args->word[0][0] != '/') {
        if (getcwd(here, sizeof here) == NULL) {
            ctl_say("The working folder has no name; give DIR from the root.");
            return CTL_FAILED;
        }
        ald_buf_printf(&dir, "%s/", here);
    }
    ald_buf_put_str(&dir, args->word[0]);
    int code = state_backup_to(ctl, ald_buf_str(&dir));
    ald_buf_free(&dir);
    return code;
}

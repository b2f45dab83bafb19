/* The desk of dead letters: list, show, replay, drop. Its other commands are in desk_*.c. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/desk.h"

enum {
    DESK_ASK_MS = 30000,
    DESK_PAGE = 200,
    DESK_LIMIT = 50,
    DESK_ID_MAX = 32,
    DESK_PATH_MAX = 4096,
    DESK_ALL_MAX = 100000 /* letters that `all` takes at once */
};

static const char *const DESK_HEADS[] = {"letter", "reason",    "state",    "provider", "its id",
                                         "task",   ">attempts", "next try", "cause"};

static void desk_row(struct ald_json letter, table_t *table)
{
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    char state[33];
    (void)pick_word(letter, "/state", state, sizeof state);
    table_put_str(table, pick_word(letter, "/id", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(letter, "/reason", word, sizeof word), TONE_PLAIN);
    table_put_str(table, state, ctl_tone(state));
    table_put_str(table, pick_word(letter, "/provider", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(letter, "/provider_id", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(letter, "/task", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_word(letter, "/attempts", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_time(letter, "/due_ms", at), TONE_DIM);
    table_put_str(table, pick_word(letter, "/cause", word, sizeof word), TONE_PLAIN);
}

/* Called with each letter; false: no more. */
typedef bool desk_letter_fn(void *context, struct ald_json letter);

/* False: a time is none, and that was said. */
static bool desk_list_path(const struct args *args, const char *cursor, struct ald_buf *path)
{
    char number[24];
    int64_t since_ms = 0;
    int64_t until_ms = 0;
    if (!desk_time(args, ARG_SINCE, &since_ms) || !desk_time(args, ARG_UNTIL, &until_ms))
        return false;
    (void)snprintf(number, sizeof number, "%d", DESK_PAGE);
    ald_buf_reset(path);
    ald_buf_put_str(path, "/v1/dead-letters");
    ctl_query(path, "limit", number);
    ctl_query(path, "reason", args->text[ARG_REASON]);
    ctl_query(path, "provider", args->text[ARG_PROVIDER]);
    ctl_query(path, "state", args->text[ARG_STATE]);
    ctl_query(path, "task", args->text[ARG_TASK]);
    ctl_query(path, "q", args->text[ARG_FIND]);
    ctl_query(path, "consumer", args->text[ARG_CONSUMER]);
    (void)snprintf(number, sizeof number, "%lld", (long long)since_ms);
    ctl_query(path, "since", since_ms != 0 ? number : NULL);
    (void)snprintf(number, sizeof number, "%lld", (long long)until_ms);
    ctl_query(path, "until", until_ms != 0 ? number : NULL);
    ctl_query(path, "cursor", cursor[0] ? cursor : NULL);
    return true;
}

/* Every letter that the filters leave, page by page, until fn has enough. *more: there are others.
 */
static int desk_each(struct ctl *ctl, desk_letter_fn *fn, void *context, bool *more)
{
    struct ald_json page;
    struct ald_json letter;
    struct ald_span key;
    struct ald_buf path;
    char cursor[192] = "";
    char note[192];
    int code = CTL_USAGE;
    ald_buf_init(&path, DESK_PATH_MAX);
    *more = false;
    do {
        if (!desk_list_path(ctl->args, cursor, &path))
            break;
        struct api_request request = {.path = ald_buf_str(&path), .timeout_ms = DESK_ASK_MS};
        code = ctl_ask(ctl, &request, &page);
        if (code != CTL_OK)
            break;
        struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(page, "/letters"));
        while (!*more && ald_json_walk_next(&walk, &key, &letter))
            *more = !fn(context, letter);
        (void)pick_word(page, "/cursor", cursor, sizeof cursor);
        if (pick_word(page, "/note", note, sizeof note)[0] != '\0')
            ctl_say("%s", CTL_SAFE(note));
    } while (!*more && cursor[0] != '\0');
    ald_buf_free(&path);
    return code;
}

struct desk_listing {
    struct ctl *ctl;
    table_t *table;
    uint64_t seen;
    uint64_t limit;
};

static bool desk_list_one(void *context, struct ald_json letter)
{
    struct desk_listing *self = context;
    char id[DESK_ID_MAX];
    if (self->limit != 0 && self->seen == self->limit)
        return false;
    self->seen++;
    if (ctl_json(self->ctl))
        pick_line(letter, &self->ctl->out);
    else if (args_has(self->ctl->args, ARG_QUIET))
        ald_buf_printf(&self->ctl->out, "%s\n", CTL_SAFE(pick_word(letter, "/id", id, sizeof id)));
    else
        desk_row(letter, self->table);
    return true;
}

int desk_list(struct ctl *ctl, const struct args *args)
{
    struct desk_listing self = {.ctl = ctl,
                                .table = table_new(DESK_HEADS, ALD_COUNT(DESK_HEADS)),
                                .limit = args_has(args, ARG_LIMIT) ? args->number[ARG_LIMIT]
                                                                   : DESK_LIMIT};
    bool more;
    if (args_has(args, ARG_GROUP)) {
        table_destroy(&self.table);
        return desk_groups(ctl, args);
    }
    int code = desk_each(ctl, desk_list_one, &self, &more);
    if (table_rows(self.table) > 0)
        table_write(self.table, ctl->color, &ctl->out);
    ctl_flush(ctl);
    table_destroy(&self.table);
    if (code == CTL_OK && self.seen == 0) {
        ctl_say("There are no such dead letters.");
        code = ctl_provider_known(ctl, args->text[ARG_PROVIDER]);
    }
    if (code == CTL_OK && more && !args_has(args, ARG_QUIET))
        ctl_say("There are more: --limit N, or --limit 0 for all.");
    return code;
}

/* ---- one letter ---- */

int desk_ask(struct ctl *ctl, const char *method, const char *id, const char *tail,
             const char *body, struct ald_json *out)
{
    struct ald_buf path;
    ald_buf_init(&path, DESK_PATH_MAX);
    ald_buf_put_str(&path, "/v1/dead-letters");
    ctl_path(&path, id);
    ald_buf_put_str(&path, tail);
    struct api_request request = {
        .method = method, .path = ald_buf_str(&path), .body = body, .timeout_ms = DESK_ASK_MS};
    int code = ctl_ask(ctl, &request, out);
    ald_buf_free(&path);
    return code;
}

static void desk_line(struct ctl *ctl, struct ald_json letter, const char *name,
                      const char *pointer)
{
    struct ald_buf text;
    ald_buf_init(&text, API_ANSWER_MAX);
    pick_text(letter, pointer, &text);
    ctl_line(ctl, name, ald_buf_str(&text), TONE_PLAIN);
    ald_buf_free(&text);
}

/* A line for each header, as they came. */
static void desk_headers(struct ctl *ctl, struct ald_json letter)
{
    struct ald_buf text;
    ald_buf_init(&text, API_ANSWER_MAX);
    pick_text(letter, "/original/headers", &text);
    struct ald_span rest = ald_buf_span(&text);
    for (const char *name = "headers"; rest.len > 0; name = "") {
        size_t end = ald_span_find(rest, '\n');
        ctl_line_span(ctl, name, ald_span_trim(ald_span_of(rest.data, end)));
        size_t used = end < rest.len ? end + 1 : end;
        rest = ald_span_of(rest.data + used, rest.len - used);
    }
    ald_buf_free(&text);
}

/* What happened, in the words of a person. */
static void desk_timeline(struct ctl *ctl, struct ald_json letter)
{
    static const char *const heads[] = {"when",    "what",   ">revision",  "by",
                                        "outcome", "detail", "bulk replay"};
    static const char *const members[] = {"/what",    "/revision", "/by",
                                          "/outcome", "/detail",   "/replay"};
    struct ald_json line;
    struct ald_span key;
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    table_t *table = table_new(heads, ALD_COUNT(heads));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(letter, "/timeline"));
    while (ald_json_walk_next(&walk, &key, &line)) {
        table_put_str(table, pick_time(line, "/at_ms", at), TONE_PLAIN);
        for (size_t i = 0; i < ALD_COUNT(members); i++)
            table_put_str(table, pick_word(line, members[i], word, sizeof word), TONE_PLAIN);
    }
    if (table_rows(table) > 0) {
        ald_buf_put_byte(&ctl->out, '\n');
        table_write(table, ctl->color, &ctl->out);
    }
    table_destroy(&table);
}

/* The event that a consumer did not take. */
static void desk_event(struct ctl *ctl, struct ald_json letter)
{
    static const char *const lines[][2] = {
        {"event", "/event/position"}, {"its state", "/event/state"},
        {"its task", "/event/task"},  {"provider id", "/event/provider_id"},
        {"its key", "/event/key"},    {"its meta", "/event/meta"},
        {"its code", "/event/code"},  {"source", "/event/source"},
        {"result", "/event/result"},  {"result (b64)", "/event/result_base64"},
    };
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        desk_line(ctl, letter, lines[i][0], lines[i][1]);
}

static void desk_print(struct ctl *ctl, struct ald_json letter)
{
    static const char *const lines[][2] = {
        {"letter", "/id"},          {"reason", "/reason"},     {"cause", "/cause"},
        {"state", "/state"},        {"outcome", "/outcome"},   {"provider", "/provider"},
        {"its id", "/provider_id"}, {"task", "/task"},         {"proof", "/proof"},
        {"consumer", "/consumer"},  {"attempts", "/attempts"}, {"revision", "/revision"},
        {"shown", "/shown"},
    };
    static const char *const times[][2] = {
        {"made", "/made_ms"}, {"next try", "/due_ms"}, {"closed", "/closed_ms"}};
    static const char *const original[][2] = {
        {"request", "/original/method"},
        {"path", "/original/path"},
        {"query", "/original/query"},
        {"type", "/original/content_type"},
    };
    static const char *const content[][2] = {
        {"body", "/original/body"},     {"body (b64)", "/original/body_base64"},
        {"from", "/original/peer"},     {"fault", "/original/fault"},
        {"detail", "/original/detail"},
    };
    char at[PICK_TIME_MAX];
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        desk_line(ctl, letter, lines[i][0], lines[i][1]);
    for (size_t i = 0; i < ALD_COUNT(times); i++)
        ctl_line(ctl, times[i][0], pick_time(letter, times[i][1], at), TONE_PLAIN);
    for (size_t i = 0; i < ALD_COUNT(original); i++)
        desk_line(ctl, letter, original[i][0], original[i][1]);
    desk_headers(ctl, letter);
    for (size_t i = 0; i < ALD_COUNT(content); i++)
        desk_line(ctl, letter, content[i][0], content[i][1]);
    desk_event(ctl, letter);
    desk_timeline(ctl, letter);
}

int desk_show(struct ctl *ctl, const struct args *args)
{
    struct ald_json letter;
    char tail[48] = "";
    if (args_has(args, ARG_REVISION))
        (void)snprintf(tail, sizeof tail, "?revision=%llu",
                       (unsigned long long)args->number[ARG_REVISION]);
    int code = desk_ask(ctl, NULL, args->word[0], tail, NULL, &letter);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl))
        pick_line(letter, &ctl->out);
    else
        desk_print(ctl, letter);
    return CTL_OK;
}

/* ---- replay and drop: one, or all that the filters leave ---- */

struct desk_pile {
    size_t count;
    size_t limit;
    char (*id)[DESK_ID_MAX];
};

static bool desk_gather(void *context, struct ald_json letter)
{
    struct desk_pile *pile = context;
    char outcome[33];
    if (strcmp(pick_word(letter, "/outcome", outcome, sizeof outcome), "outbox") == 0)
        return true; /* the dlq, which would do it, does not have it yet */
    if (pile->count == pile->limit)
        return false;
    (void)pick_word(letter, "/id", pile->id[pile->count], DESK_ID_MAX);
    pile->count++;
    return true;
}

struct desk_deed {
    const char *method;
    const char *tail;
    const char *body;
    const char *verb; /* for the question */
    const char *past; /* for the report */
};

static int desk_do_one(struct ctl *ctl, const struct desk_deed *deed, const char *id)
{
    struct ald_json answer;
    int code = desk_ask(ctl, deed->method, id, deed->tail, deed->body, &answer);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl) && answer.kind == ALD_JSON_OBJECT)
        pick_line(answer, &ctl->out);
    else if (!args_has(ctl->args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%s %s\n", deed->past, CTL_SAFE(id));
    ctl_flush(ctl);
    return CTL_OK;
}

/* A letter that refuses does not stop the others; a gateway that is gone does. */
static int desk_do_pile(struct ctl *ctl, const struct desk_deed *deed, const struct desk_pile *pile)
{
    int worst = CTL_OK;
    for (size_t i = 0; i < pile->count; i++) {
        int code = desk_do_one(ctl, deed, pile->id[i]);
        if (code == CTL_UNREACHABLE)
            return code;
        worst = code == CTL_OK ? worst : code;
    }
    return worst;
}

static int desk_do_all(struct ctl *ctl, const struct desk_deed *deed)
{
    char question[128];
    bool more;
    struct desk_pile pile = {.limit = DESK_ALL_MAX, .id = calloc(DESK_ALL_MAX, DESK_ID_MAX)};
    uint64_t limit = args_has(ctl->args, ARG_LIMIT) ? ctl->args->number[ARG_LIMIT] : 0;
    if (limit > 0 && limit < DESK_ALL_MAX)
        pile.limit = (size_t)limit;
    ALD_ASSERT(pile.id != NULL);
    int code = desk_each(ctl, desk_gather, &pile, &more);
    (void)snprintf(question, sizeof question, "%s %s%zu dead letters?", deed->verb,
                   more ? "the first " : "", pile.count);
    if (code == CTL_OK && pile.count == 0)
        ctl_say("There are no such dead letters.");
    else if (code == CTL_OK)
        code = ctl_confirm(ctl, question) ? desk_do_pile(ctl, deed, &pile) : CTL_FAILED;
    free(pile.id);
    return code;
}

static int desk_do(struct ctl *ctl, const struct desk_deed *deed)
{
    char question[128];
    const char *id = ctl->args->word[0];
    if (strcmp(id, "all") == 0)
        return desk_do_all(ctl, deed);
    (void)snprintf(question, sizeof question, "%s letter %.40s?", deed->verb, CTL_SAFE(id));
    return ctl_confirm(ctl, question) ? desk_do_one(ctl, deed, id) : CTL_FAILED;
}

/* What a replay would do, a line for each thing that is known. */
static void desk_print_dry(struct ctl *ctl, struct ald_json letter)
{
    static const char *const lines[][2] = {
        {"letter", "/id"},
        {"tried", "/dry_run/tried"},
        {"disposition", "/dry_run/disposition"},
        {"reason", "/dry_run/reason"},
        {"why", "/dry_run/why"},
        {"task", "/dry_run/task"},
        {"is now", "/dry_run/task_state"},
        {"would be", "/dry_run/state"},
        {"its id", "/dry_run/provider_id"},
        {"rules say", "/dry_run/then"},
        {"rule", "/dry_run/rule"},
        {"code", "/dry_run/code"},
        {"code's row", "/dry_run/code_row"},
        {"class", "/dry_run/class"},
    };
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        desk_line(ctl, letter, lines[i][0], lines[i][1]);
}

static int desk_dry(struct ctl *ctl, const char *id, const char *body)
{
    struct ald_json letter;
    int code = desk_ask(ctl, "POST", id, "/replay", body, &letter);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl))
        pick_line(letter, &ctl->out);
    else
        desk_print_dry(ctl, letter);
    return CTL_OK;
}

void desk_words(const struct args *args, struct ald_buf *body)
{
    static const struct {
        enum arg arg;
        const char *member;
    } words[] = {{ARG_BELIEVE, "believe"},
                 {ARG_BUY, "buy"},
                 {ARG_PUBLISH, "publish"},
                 {ARG_DRY_RUN, "dry_run"}};
    for (size_t i = 0; i < ALD_COUNT(words); i++)
        if (args_has(args, words[i].arg))
            ald_buf_printf(body, ",\"%s\":true", words[i].member);
}

const char *desk_replay_verb(const struct args *args)
{
    if (args_has(args, ARG_BUY))
        return "Submit anew, which is paid for, the tasks of";
    return args_has(args, ARG_PUBLISH) ? "Publish as corrections the answers in" : "Replay";
}

int desk_replay(struct ctl *ctl, const struct args *args)
{
    struct ald_buf body;
    bool all = strcmp(args->word[0], "all") == 0;
    bool dry = args_has(args, ARG_DRY_RUN);
    bool buy = args_has(args, ARG_BUY);
    bool publish = args_has(args, ARG_PUBLISH);
    if (args_has(args, ARG_BELIEVE) + buy + publish > 1) {
        ctl_say("Of --believe, --buy and --publish a replay takes one.");
        return CTL_USAGE;
    }
    /* With a limit it is no job: the letters are asked for one by one. */
    if (all && (dry || !args_has(args, ARG_LIMIT)))
        return desk_replay_all(ctl, args);
    if (!all && !dry && (buy || publish))
        return desk_again(ctl, args);
    ald_buf_init(&body, DESK_PATH_MAX);
    desk_body(args, &body);
    desk_words(args, &body);
    ald_buf_put_byte(&body, '}');
    struct desk_deed deed = {.method = "POST",
                             .tail = "/replay",
                             .body = ald_buf_str(&body),
                             .verb = desk_replay_verb(args),
                             .past = "to be replayed:"};
    int code = dry ? desk_dry(ctl, args->word[0], deed.body) : desk_do(ctl, &deed);
    ald_buf_free(&body);
    return code;
}

int desk_drop(struct ctl *ctl, const struct args *args)
{
    struct ald_buf body;
    ald_buf_init(&body, DESK_PATH_MAX);
    desk_body(args, &body);
    ald_buf_put_byte(&body, '}');
    struct desk_deed deed = {.method = "DELETE",
                             .tail = "",
                             .body = ald_buf_str(&body),
                             .verb = "Drop",
                             .past = "dropped:"};
    int code = desk_do(ctl, &deed);
    ald_buf_free(&body);
    return code;
}

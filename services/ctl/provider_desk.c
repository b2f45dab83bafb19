/* Providers: how their accounts stand, pause, resume. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "services/ctl/age.h"
#include "services/ctl/commands.h"

enum { PROVIDER_ASK_MS = 15000, PROVIDER_PATH_MAX = 512 };

static const char *const PROVIDER_HEADS[] = {
    "provider",  "state",           ">open", ">queued",    ">polling", ">late",
    "due since", "not asked until", "why",   "first poll", "budgets",  "keys"};

/* Is there a budget with nothing left? */
static bool provider_spent(struct ald_json provider)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(provider, "/budgets"));
    struct ald_json budget;
    struct ald_span key;
    while (ald_json_walk_next(&walk, &key, &budget)) {
        int64_t limit = pick_int(budget, "/limit");
        if (limit > 0 && pick_int(budget, "/used") >= limit)
            return true;
    }
    return false;
}

/* A few words for a person: what keeps this provider's tasks waiting. Troubles are those in a row.
 */
static const char *provider_state(struct ald_json provider, char *room, size_t cap, enum tone *tone)
{
    char word[TABLE_CELL_MAX + 1];
    *tone = TONE_BAD;
    if (strcmp(pick_word(provider, "/paused", word, sizeof word), "true") == 0)
        return "paused";
    if (pick_int(provider, "/blocked_until_ms") != 0)
        return "blocked";
    (void)pick_word(provider, "/breaker", room, cap);
    if (strcmp(room, "closed") != 0)
        return strcmp(room, "open") == 0 ? "in trouble" : "in trouble, tried";
    *tone = TONE_WAIT;
    if (provider_spent(provider))
        return "budget used up";
    int64_t troubles = pick_int(provider, "/troubles");
    if (troubles > 0) {
        (void)snprintf(room, cap, "asked, %" PRId64 " failed", troubles);
        return room;
    }
    *tone = TONE_GOOD;
    return "asked";
}

/* "res.php 12/1200 + 3/120": used of its limit, and the same of hints. */
static void provider_budgets(struct ald_json provider, struct ald_buf *text)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(provider, "/budgets"));
    struct ald_json budget;
    struct ald_span key;
    char name[TABLE_CELL_MAX + 1];
    while (ald_json_walk_next(&walk, &key, &budget)) {
        if (pick_int(budget, "/limit") == 0)
            continue;
        ald_buf_printf(text, "%s%s %lld/%lld", text->len > 0 ? ", " : "",
                       pick_word(budget, "/name", name, sizeof name),
                       (long long)pick_int(budget, "/used"), (long long)pick_int(budget, "/limit"));
        if (pick_int(budget, "/hinted_limit") > 0)
            ald_buf_printf(text, " + %lld/%lld", (long long)pick_int(budget, "/hinted"),
                           (long long)pick_int(budget, "/hinted_limit"));
    }
}

/* "12s, learned from 800": when a task made now is polled. */
static void provider_stale(struct ald_json provider, struct ald_buf *text)
{
    char word[TABLE_CELL_MAX + 1];
    char after[AGE_TEXT_MAX];
    if (ald_json_find(provider, "/never_polled").kind == ALD_JSON_TRUE) {
        ald_buf_put_str(text, "never");
        return;
    }
    ald_buf_put_str(text, age_text(pick_int(provider, "/stale_after_ms"), after));
    if (strcmp(pick_word(provider, "/stale_auto", word, sizeof word), "true") == 0)
        ald_buf_printf(text, ", auto from %s",
                       pick_word(provider, "/callbacks", word, sizeof word));
}

/* "2 of 2026-11-30 10:33:02" and what went wrong since: public keys that are fetched. */
static enum tone provider_keys(struct ald_json provider, struct ald_buf *text)
{
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    if (ald_json_find(provider, "/keys").kind != ALD_JSON_OBJECT)
        return TONE_PLAIN;
    ald_buf_printf(text, "%lld", (long long)pick_int(provider, "/keys/count"));
    if (pick_int(provider, "/keys/fetched_ms") != 0)
        ald_buf_printf(text, " of %s", pick_time(provider, "/keys/fetched_ms", at));
    const char *error = pick_word(provider, "/keys/error", word, sizeof word);
    if (error[0] == '\0')
        return TONE_PLAIN;
    ald_buf_printf(text, ": %s", error);
    return TONE_BAD;
}

static void provider_row(struct ald_json provider, table_t *table)
{
    static const char *const numbers[] = {"/open", "/queued", "/polling", "/late"};
    char word[TABLE_CELL_MAX + 1];
    char room[40];
    char at[PICK_TIME_MAX];
    enum tone tone;
    struct ald_buf cell;
    ald_buf_init(&cell, 1024);
    table_put_str(table, pick_word(provider, "/name", word, sizeof word), TONE_PLAIN);
    const char *state = provider_state(provider, room, sizeof room, &tone);
    table_put_str(table, state, tone);
    for (size_t i = 0; i < ALD_COUNT(numbers); i++)
        table_put_str(table, pick_word(provider, numbers[i], word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_time(provider, "/oldest_due_ms", at), TONE_DIM);
    bool blocked = pick_int(provider, "/blocked_until_ms") != 0;
    table_put_str(table, pick_time(provider, blocked ? "/blocked_until_ms" : "/open_until_ms", at),
                  TONE_PLAIN);
    table_put_str(table, pick_word(provider, "/blocked_why", word, sizeof word), TONE_PLAIN);
    provider_stale(provider, &cell);
    table_put_str(table, ald_buf_str(&cell), TONE_PLAIN);
    ald_buf_reset(&cell);
    provider_budgets(provider, &cell);
    table_put_str(table, ald_buf_str(&cell), TONE_PLAIN);
    ald_buf_reset(&cell);
    tone = provider_keys(provider, &cell);
    table_put_str(table, ald_buf_str(&cell), tone);
    ald_buf_free(&cell);
}

static int provider_show(struct ctl *ctl, const struct api_request *request)
{
    struct ald_json answer;
    struct ald_json provider;
    struct ald_span key;
    int code = ctl_ask(ctl, request, &answer);
    if (code != CTL_OK)
        return code;
    table_t *table = table_new(PROVIDER_HEADS, ALD_COUNT(PROVIDER_HEADS));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/providers"));
    while (ald_json_walk_next(&walk, &key, &provider)) {
        if (ctl_json(ctl))
            pick_line(provider, &ctl->out);
        else
            provider_row(provider, table);
    }
    if (table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
    return CTL_OK;
}

int provider_status(struct ctl *ctl, const struct args *args)
{
    struct ald_buf path;
    ald_buf_init(&path, PROVIDER_PATH_MAX);
    ald_buf_put_str(&path, "/v1/providers");
    ctl_query(&path, "name", args->words > 0 ? args->word[0] : NULL);
    const struct api_request request = {.path = ald_buf_str(&path), .timeout_ms = PROVIDER_ASK_MS};
    int code = provider_show(ctl, &request);
    ald_buf_free(&path);
    return code;
}

static int provider_tell(struct ctl *ctl, const struct args *args, const char *verb)
{
    struct ald_buf path;
    ald_buf_init(&path, PROVIDER_PATH_MAX);
    ald_buf_put_str(&path, "/v1/providers");
    ctl_path(&path, args->word[0]);
    ald_buf_put_str(&path, verb);
    const struct api_request request = {
        .method = "POST", .path = ald_buf_str(&path), .body = "{}", .timeout_ms = PROVIDER_ASK_MS};
    int code = provider_show(ctl, &request);
    ald_buf_free(&path);
    return code;
}

int provider_pause(struct ctl *ctl, const struct args *args)
{
    return provider_tell(ctl, args, "/pause");
}

int provider_resume(struct ctl *ctl, const struct args *args)
{
    return provider_tell(ctl, args, "/resume");
}

/* Durable consumers: who reads results under a name. */
#include <string.h>

#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/feed.h"

enum { CONSUMERS_PATH_MAX = 512, CONSUMERS_ASK_MS = 20000 };

static const char *const CONSUMERS_HEADS[] = {"name",     ">lag", ">pending",   ">rejected",
                                              "position", "mode", ">instances", "oldest unsettled"};

static int consumers_ask(struct ctl *ctl, const char *method, const char *name,
                         struct ald_json *out)
{
    struct ald_buf path;
    ald_buf_init(&path, CONSUMERS_PATH_MAX);
    ald_buf_put_str(&path, "/v1/consumers");
    if (name)
        ctl_path(&path, name);
    struct api_request request = {
        .method = method, .path = ald_buf_str(&path), .timeout_ms = CONSUMERS_ASK_MS};
    int code = ctl_ask(ctl, &request, out);
    ald_buf_free(&path);
    return code;
}

int consumers_place(struct ctl *ctl, const char *name, struct feed_place *out)
{
    struct ald_json consumer;
    int code = consumers_ask(ctl, NULL, name, &consumer);
    if (code != CTL_OK)
        return code;
    (void)pick_word(consumer, "/position", out->after, sizeof out->after);
    (void)pick_word(consumer, "/provider", out->provider, sizeof out->provider);
    (void)pick_word(consumer, "/state", out->state, sizeof out->state);
    return CTL_OK;
}

static void consumers_row(struct ald_json consumer, table_t *table)
{
    char word[TABLE_CELL_MAX + 1];
    char at[PICK_TIME_MAX];
    char sink[6];
    bool is_sink = strcmp(pick_word(consumer, "/sink", sink, sizeof sink), "true") == 0;
    static const char *const cells[] = {"/name", "/lag", "/pending", "/rejected", "/position"};
    for (size_t i = 0; i < ALD_COUNT(cells); i++) {
        const char *text = pick_word(consumer, cells[i], word, sizeof word);
        bool bad = i == 3 && strcmp(text, "0") != 0;
        table_put_str(table, text, bad ? TONE_BAD : TONE_PLAIN);
    }
    table_put_str(table, is_sink ? "sink" : pick_word(consumer, "/mode", word, sizeof word),
                  TONE_PLAIN);
    table_put_str(table, pick_word(consumer, "/instances", word, sizeof word), TONE_PLAIN);
    table_put_str(table, pick_time(consumer, "/oldest_ms", at), TONE_DIM);
}

int consumers_list(struct ctl *ctl, const struct args *args)
{
    struct ald_json answer;
    struct ald_json consumer;
    struct ald_span key;
    char name[ALD_CONSUMER_MAX];
    int code = consumers_ask(ctl, NULL, NULL, &answer);
    if (code != CTL_OK)
        return code;
    table_t *table = table_new(CONSUMERS_HEADS, ALD_COUNT(CONSUMERS_HEADS));
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/consumers"));
    size_t count = 0;
    for (; ald_json_walk_next(&walk, &key, &consumer); count++) {
        if (ctl_json(ctl))
            pick_line(consumer, &ctl->out);
        else if (args_has(args, ARG_QUIET))
            ald_buf_printf(&ctl->out, "%s\n",
                           CTL_SAFE(pick_word(consumer, "/name", name, sizeof name)));
        else
            consumers_row(consumer, table);
    }
    if (table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
    if (count == 0 && !args_has(args, ARG_QUIET))
        ctl_say("There are no consumers; 'aldaba tail --consumer NAME --ack' makes one.");
    return CTL_OK;
}

int consumers_show(struct ctl *ctl, const struct args *args)
{
    static const char *const lines[][2] = {
        {"name", "/name"},
        {"position", "/position"},
        {"handed out", "/handed"},
        {"lag", "/lag"},
        {"pending", "/pending"},
        {"rejected", "/rejected"},
        {"instances", "/instances"},
        {"mode", "/mode"},
        {"provider", "/provider"},
        {"state", "/state"},
        {"most tries", "/max_deliver"},
        {"ack wait ms", "/ack_wait_ms"},
        {"at once", "/max_ack_pending"},
        {"sink", "/sink"},
        {"sink is", "/sink_state"},
    };
    static const char *const times[][2] = {
        {"made", "/made_ms"}, {"asked", "/asked_ms"}, {"oldest", "/oldest_ms"}};
    struct ald_json consumer;
    char word[ALD_POSITION_MAX];
    char at[PICK_TIME_MAX];
    int code = consumers_ask(ctl, NULL, args->word[0], &consumer);
    if (code != CTL_OK)
        return code;
    if (ctl_json(ctl)) {
        pick_line(consumer, &ctl->out);
        return CTL_OK;
    }
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        ctl_line(ctl, lines[i][0], pick_word(consumer, lines[i][1], word, sizeof word), TONE_PLAIN);
    for (size_t i = 0; i < ALD_COUNT(times); i++)
        ctl_line(ctl, times[i][0], pick_time(consumer, times[i][1], at), TONE_PLAIN);
    return CTL_OK;
}

int consumers_remove(struct ctl *ctl, const struct args *args)
{
    struct ald_json none;
    char question[160];
    (void)snprintf(question, sizeof question, "Forget consumer %.64s and what it has not settled?",
                   CTL_SAFE(args->word[0]));
    if (!ctl_confirm(ctl, question))
        return CTL_FAILED;
    int code = consumers_ask(ctl, "DELETE", args->word[0], &none);
    if (code == CTL_OK && !args_has(args, ARG_QUIET) && !ctl_json(ctl))
        ald_buf_printf(&ctl->out, "forgotten: %s\n", CTL_SAFE(args->word[0]));
    return code;
}

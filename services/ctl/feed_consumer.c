/* Following results as a durable consumer: long polls, each of which settles what the one before
 * brought and was printed. What was not printed when we are killed comes again. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/json_out.h"
#include "common/base/text.h"
#include "services/ctl/feed.h"

enum {
    CONSUME_LIMIT = 100,
    CONSUME_BODY_MAX = 64 << 10,
    CONSUME_PATH_MAX = 512,
    CONSUME_TIMEOUT_MS = 45000,
    CONSUME_PAUSE_MS = 1000
};

#define CONSUME_WAIT "30s"

struct consume {
    struct ctl *ctl;
    const char *name;
    char instance[ALD_ULID_MAX];
    char gap_seen[ALD_POSITION_MAX];
    uint64_t seen;
    uint64_t count;        /* end after so many, 0 = never */
    struct ald_buf settle; /* elements of an array: what was printed and is not settled */
    bool away;             /* it was said that nobody answers */
};

static int consume_ask(struct consume *self, const char *method, const char *tail,
                       const struct ald_buf *body, struct ald_json *out)
{
    struct ald_buf path;
    ald_buf_init(&path, CONSUME_PATH_MAX);
    ald_buf_put_str(&path, "/v1/consumers");
    ctl_path(&path, self->name);
    ald_buf_put_str(&path, tail);
    struct api_request request = {.method = method,
                                  .path = ald_buf_str(&path),
                                  .body = ald_buf_str((struct ald_buf *)(uintptr_t)body),
                                  .timeout_ms = CONSUME_TIMEOUT_MS};
    int code = tail[0] == '\0' ? ctl_ask(self->ctl, &request, out)
                               : ctl_ask_again(self->ctl, &request, out);
    ald_buf_free(&path);
    return code;
}

/* Make it, or find it. */
static int consume_open(struct consume *self, const struct args *args)
{
    const struct {
        const char *name;
        const char *value;
    } members[] = {{"from", feed_from(args)},
                   {"provider", args->text[ARG_PROVIDER]},
                   {"state", args->text[ARG_STATE]}};
    struct ald_buf body;
    struct ald_json answer;
    ald_buf_init(&body, CONSUME_BODY_MAX);
    struct ald_json_out out = ald_json_out_begin(&body);
    ald_json_out_object(&out, NULL);
    for (size_t i = 0; i < ALD_COUNT(members); i++)
        if (members[i].value)
            ald_json_out_text(&out, members[i].name, members[i].value);
    ald_json_out_close_object(&out);
    int code = consume_ask(self, "PUT", "", &body, &answer);
    ald_buf_free(&body);
    return code;
}

/* pull false: only settle. */
static int consume_post(struct consume *self, bool pull, struct ald_json *answer)
{
    struct ald_buf body;
    uint64_t left = self->count == 0 ? CONSUME_LIMIT : self->count - self->seen;
    ald_buf_init(&body, CONSUME_BODY_MAX);
    struct ald_json_out out = ald_json_out_begin(&body);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "instance", self->instance);
    if (pull) {
        ald_json_out_int(&out, "limit", left < CONSUME_LIMIT ? (int64_t)left : CONSUME_LIMIT);
        ald_json_out_text(&out, "wait", CONSUME_WAIT);
        ald_json_out_text(&out, "gap_seen", self->gap_seen);
    }
    ald_json_out_array(&out, "settle");
    if (self->settle.len > 0)
        ald_json_out_raw(&out, NULL, ald_buf_span(&self->settle));
    ald_json_out_close_array(&out);
    ald_json_out_close_object(&out);
    ALD_ASSERT(ald_buf_ok(&body));
    int code = consume_ask(self, "POST", pull ? "/pull" : "/settle", &body, answer);
    ald_buf_free(&body);
    if (code == CTL_OK)
        ald_buf_reset(&self->settle);
    return code;
}

static void consume_event(struct consume *self, struct ald_json event)
{
    if (ctl_json(self->ctl))
        pick_line(event, &self->ctl->out);
    else
        feed_show(self->ctl, event);
    ald_buf_printf(&self->settle, "%s{\"lane\":%lld,\"seq\":%lld}", self->settle.len > 0 ? "," : "",
                   (long long)pick_int(event, "/lane"), (long long)pick_int(event, "/seq"));
    self->seen++;
}

static void consume_gap(struct consume *self, struct ald_json gap)
{
    char why[ALD_WORD_MAX];
    if (gap.kind != ALD_JSON_OBJECT) {
        self->gap_seen[0] = '\0';
        return;
    }
    (void)pick_word(gap, "/before", self->gap_seen, sizeof self->gap_seen);
    ctl_say("Results before %s that were not settled are gone: %s.", CTL_SAFE(self->gap_seen),
            strcmp(pick_word(gap, "/why", why, sizeof why), "lane") == 0
                ? "the store was set back"
                : "they were older than what is kept");
}

/* CTL_OK: all of it was printed. */
static int consume_page(struct consume *self, struct ald_json page)
{
    struct ald_span key;
    struct ald_json event;
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(page, "/events"));
    while (ald_json_walk_next(&walk, &key, &event))
        consume_event(self, event);
    ctl_flush(self->ctl);
    consume_gap(self, ald_json_find(page, "/gap"));
    return ferror(stdout) ? CTL_FAILED : CTL_OK;
}

static void consume_away(struct consume *self)
{
    if (!self->away && !args_has(self->ctl->args, ARG_QUIET))
        ctl_say("Nobody answers; asking again where it broke off.");
    self->away = true;
    ctl_pause(CONSUME_PAUSE_MS);
}

static int consume_loop(struct consume *self)
{
    for (;;) {
        struct ald_json page;
        bool ends = self->count > 0 && self->seen >= self->count;
        if (ends && self->settle.len == 0)
            return CTL_OK;
        int code = consume_post(self, !ends, &page);
        if (code == CTL_OK && !ends)
            code = consume_page(self, page);
        if (code == CTL_AGAIN)
            consume_away(self);
        else if (code != CTL_OK)
            return code;
        else
            self->away = false;
    }
}

int feed_consume(struct ctl *ctl, const struct args *args)
{
    struct consume self = {
        .ctl = ctl, .name = args->text[ARG_CONSUMER], .count = args->number[ARG_COUNT]};
    ald_ulid_new(self.instance);
    ald_buf_init(&self.settle, CONSUME_BODY_MAX / 2);
    int code = consume_open(&self, args);
    if (code == CTL_OK)
        code = consume_loop(&self);
    ald_buf_free(&self.settle);
    return code;
}

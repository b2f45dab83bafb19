/* Following the feed: Server-Sent Events of /v1/events, joined again where they broke off. */
#include <string.h>

#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/feed.h"
#include "services/ctl/sse.h"

enum {
    FEED_EVENT_MAX = 64 << 20,
    FEED_SILENCE_MS = 60000, /* the gateway says something more often than that */
    FEED_WAIT_FIRST_MS = 500,
    FEED_WAIT_MAX_MS = 10000
};

struct feed {
    struct ctl *ctl;
    struct sse sse;
    struct feed_place place;
    uint64_t seen;
    uint64_t count; /* end after so many, 0 = never */
    bool spoilt;    /* the stream can't be read */
    bool heard;     /* something came on this connection */
    bool told;      /* of a gap, or a result came: what comes is no answer to --from any more */
};

void feed_show(struct ctl *ctl, struct ald_json event)
{
    char word[64];
    char at[PICK_TIME_MAX];
    char state[33];
    char source[PICK_SOURCE_MAX];
    struct ald_buf said;
    (void)pick_word(event, "/state", state, sizeof state);
    (void)pick_word(event, "/position", word, sizeof word);
    ald_buf_printf(&ctl->out, "%-8s  ", CTL_SAFE(word));
    ald_buf_printf(&ctl->out, "%s  ", pick_time(event, "/published_ms", at));
    tone_write(&ctl->out, CTL_SAFE(state), ctl_tone(state), ctl->color);
    if (pick_source(event, source)[0] != '\0')
        ald_buf_printf(&ctl->out, " by %s", CTL_SAFE(source));
    ald_buf_printf(&ctl->out, "  task %s", CTL_SAFE(pick_word(event, "/task", word, sizeof word)));
    ald_buf_printf(&ctl->out, "  %s", CTL_SAFE(pick_word(event, "/provider", word, sizeof word)));
    ald_buf_printf(&ctl->out, " %s  ",
                   CTL_SAFE(pick_word(event, "/provider_id", word, sizeof word)));
    ald_buf_init(&said, FEED_EVENT_MAX);
    pick_text(event, strcmp(state, "done") == 0 ? "/result" : "/code", &said);
    ctl_put(ctl, ald_buf_span(&said));
    ald_buf_free(&said);
    ald_buf_put_byte(&ctl->out, '\n');
}

/* from: the position that a person gave, when this is the first that is heard of it. */
static void feed_say_gap(struct ald_json event, const char *from)
{
    char before[SSE_ID_MAX];
    char other[6];
    (void)pick_word(event, "/before", before, sizeof before);
    bool lane = strcmp(pick_word(event, "/other_lane", other, sizeof other), "true") == 0;
    if (lane && from != NULL)
        ctl_say(
            "The feed is not in the lane of %s: that is mistyped, or of before the store was set "
            "back. It is read from the oldest that is kept, %s.",
            CTL_SAFE(from), CTL_SAFE(before));
    else if (lane)
        ctl_say("The feed goes on in another lane, from %s: the store was set back or lost its "
                "end. Results of the old lane may come again, or be gone.",
                CTL_SAFE(before));
    else
        ctl_say("Results before %s are gone: they were older than what is kept.", CTL_SAFE(before));
}

static bool feed_event(void *context, const char *name, const char *id, struct ald_span data)
{
    struct feed *self = context;
    struct ald_json event;
    (void)id;
    if (ald_json_scan(data, &event, NULL) != ALD_OK || event.kind != ALD_JSON_OBJECT)
        return true;
    if (strcmp(name, "gap") == 0) {
        feed_say_gap(event, self->told ? NULL : self->place.after);
        self->told = true;
        return true;
    }
    if (strcmp(name, "result") != 0)
        return true;
    if (ctl_json(self->ctl))
        pick_line(event, &self->ctl->out);
    else
        feed_show(self->ctl, event);
    ctl_flush(self->ctl);
    self->told = true;
    self->seen++;
    return (self->count == 0 || self->seen < self->count) && !ferror(stdout);
}

static bool feed_piece(void *context, struct ald_span piece)
{
    struct feed *self = context;
    self->heard = true;
    enum ald_rc rc = sse_feed(&self->sse, piece);
    self->spoilt = rc != ALD_OK && rc != ALD_CLOSED;
    return rc == ALD_OK;
}

const char *feed_from(const struct args *args)
{
    return args_has(args, ARG_FROM) ? args->text[ARG_FROM] : args->text[ARG_AFTER];
}

/* What was said with options goes before what the consumer has. */
static int feed_place(struct ctl *ctl, const struct args *args, struct feed_place *place)
{
    *place = (struct feed_place){.after = "new"};
    int code = args_has(args, ARG_CONSUMER) ? consumers_place(ctl, args->text[ARG_CONSUMER], place)
                                            : CTL_OK;
    const struct {
        const char *given;
        char *to;
        size_t cap;
    } words[] = {{feed_from(args), place->after, sizeof place->after},
                 {args->text[ARG_PROVIDER], place->provider, sizeof place->provider},
                 {args->text[ARG_STATE], place->state, sizeof place->state}};
    for (size_t i = 0; i < ALD_COUNT(words); i++)
        if (words[i].given)
            ald_text_cut(words[i].to, words[i].cap, ald_span_str(words[i].given));
    return code;
}

static void feed_path(const struct feed_place *place, const char *last_id, struct ald_buf *path)
{
    ald_buf_reset(path);
    ald_buf_put_str(path, "/v1/events");
    ctl_query(path, "after", last_id[0] ? last_id : place->after);
    ctl_query(path, "provider", place->provider[0] ? place->provider : NULL);
    ctl_query(path, "state", place->state[0] ? place->state : NULL);
}

/* One connection. CTL_OK: enough was seen. CTL_AGAIN: it broke; join again. Else: give up. */
static int feed_connection(struct feed *self, bool first)
{
    struct ctl *ctl = self->ctl;
    struct ald_buf path;
    struct ald_err err = {0};
    ald_buf_init(&path, 4096);
    feed_path(&self->place, self->sse.id, &path);
    struct api_request request = {
        .path = ald_buf_str(&path), .after = self->sse.id, .silence_ms = FEED_SILENCE_MS};
    sse_restart(&self->sse);
    self->heard = false;
    enum ald_rc rc = api_stream(ctl->api, &request, feed_piece, self, &ctl->answer, &err);
    ald_buf_free(&path);
    long status = ctl->answer.status;
    if (self->spoilt) {
        ctl_say("An event is larger than %d MiB; it can't be read here.", FEED_EVENT_MAX >> 20);
        return CTL_FAILED;
    }
    if (rc == ALD_OK)
        return status == 200 ? CTL_OK : first || status < 500 ? ctl_refused(ctl) : CTL_AGAIN;
    if (first && status == 0)
        return ctl_unreachable(ctl, rc, &err);
    return CTL_AGAIN;
}

int feed_tail(struct ctl *ctl, const struct args *args)
{
    struct feed self = {.ctl = ctl, .count = args->number[ARG_COUNT]};
    int64_t wait_ms = FEED_WAIT_FIRST_MS;
    if (args_has(args, ARG_ACK) && !args_has(args, ARG_CONSUMER)) {
        ctl_say("--ack is for a consumer: name it with --consumer NAME.");
        return CTL_USAGE;
    }
    int code = ctl_connect(ctl);
    if (code != CTL_OK || (args_has(args, ARG_COUNT) && self.count == 0))
        return code;
    (void)ctl_provider_known(ctl, args->text[ARG_PROVIDER]); /* it may have been one: go on */
    if (args_has(args, ARG_ACK))
        return feed_consume(ctl, args);
    code = feed_place(ctl, args, &self.place);
    if (code != CTL_OK)
        return code;
    sse_init(&self.sse, FEED_EVENT_MAX, feed_event, &self);
    code = feed_connection(&self, true);
    while (code == CTL_AGAIN) {
        if (self.heard) {
            wait_ms = FEED_WAIT_FIRST_MS;
            if (!args_has(args, ARG_QUIET))
                ctl_say("The connection is lost; joining again where it broke off.");
        }
        ctl_pause(wait_ms);
        wait_ms = 2 * wait_ms < FEED_WAIT_MAX_MS ? 2 * wait_ms : FEED_WAIT_MAX_MS;
        code = feed_connection(&self, false);
    }
    sse_free(&self.sse);
    return code;
}

/* `top`: looks again and again, and shows what the last two found. */
#include "services/ctl/top.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/commands.h"
#include "services/ctl/screen.h"

enum {
    TOP_ASK_MS = 3000, /* a gateway that takes longer is told of */
    TOP_EVERY_MS = 1000,
    TOP_EVERY_LEAST_MS = 100,
    TOP_PAGE_MAX = 1 << 20
};

struct top {
    struct ctl *ctl;
    struct top_view view;
    struct top_look *looks[2]; /* the one before, the last one */
    unsigned count;            /* looks so far, two at most */
    int64_t every_ms;
};

static bool top_go_on(void *context)
{
    (void)context;
    return !screen_wants_end();
}

/* Ask, in silence: what is wrong is shown on the page. False: no answer that says something. */
static bool top_ask(struct top *self, const char *path, struct ald_json *out)
{
    struct ald_err err = {0};
    struct top_look *now = self->looks[1];
    struct api_request request = {
        .path = path, .timeout_ms = TOP_ASK_MS, .go_on = top_go_on, .context = self};
    enum ald_rc rc = api_call(self->ctl->api, &request, &self->ctl->answer, &err);
    long status = self->ctl->answer.status;
    bool good = rc == ALD_OK && status == 200 &&
                ald_json_scan(ald_buf_span(&self->ctl->answer.body), out, NULL) == ALD_OK &&
                out->kind == ALD_JSON_OBJECT;
    if (rc != ALD_OK)
        (void)snprintf(now->why, sizeof now->why, "%s", CTL_SAFE(err.text));
    else if (status == 401 || status == 403)
        (void)snprintf(now->why, sizeof now->why, "it wants a token, in $ALDABA_TOKEN");
    else if (!good)
        (void)snprintf(now->why, sizeof now->why, "it answered %ld", status);
    return good;
}

/* The last look becomes the one before. */
static void top_turn(struct top *self)
{
    struct top_look *oldest = self->looks[0];
    struct ald_now now = ald_clock_now();
    self->looks[0] = self->looks[1];
    self->looks[1] = oldest;
    memset(oldest, 0, sizeof *oldest);
    oldest->mono_ms = now.mono_ms;
    oldest->wall_ms = now.wall_ms;
    self->count += self->count < 2;
}

static void top_look(struct top *self)
{
    struct ald_json answer;
    struct ald_json more;
    top_turn(self);
    struct top_look *now = self->looks[1];
    if (!top_ask(self, "/v1/status", &answer))
        return;
    top_take_status(now, answer);
    if (top_ask(self, "/v1/providers", &more))
        top_take_providers(now, more);
    if (top_ask(self, "/v1/consumers", &more))
        top_take_consumers(now, more);
}

static const struct top_look *top_before(const struct top *self)
{
    return self->count > 1 ? self->looks[0] : NULL;
}

/* ---- lines: no terminal, or --json ---- */

static bool top_print(struct top *self)
{
    if (ctl_json(self->ctl))
        top_json(top_before(self), self->looks[1], &self->ctl->out);
    else
        top_page(&self->view, top_before(self), self->looks[1], &self->ctl->out);
    ctl_flush(self->ctl);
    return !ferror(stdout);
}

/* The first look of all tells whether somebody is there. */
static int top_first(struct top *self)
{
    struct ald_json answer;
    struct api_request request = {.path = "/v1/status", .timeout_ms = TOP_ASK_MS};
    int code = ctl_ask(self->ctl, &request, &answer);
    if (code == CTL_OK)
        top_look(self);
    return code;
}

static int top_lines(struct top *self)
{
    const struct args *args = self->ctl->args;
    uint64_t count = args_has(args, ARG_COUNT) ? args->number[ARG_COUNT] : 0;
    int code = top_first(self);
    if (code != CTL_OK)
        return code;
    if (!ctl_json(self->ctl) && count == 0)
        count = 1;
    if (!ctl_json(self->ctl)) { /* a page without rates says little */
        ctl_pause(self->every_ms);
        top_look(self);
    }
    for (uint64_t shown = 1; top_print(self) && (count == 0 || shown < count); shown++) {
        ctl_pause(self->every_ms);
        top_look(self);
    }
    return CTL_OK;
}

/* ---- the terminal ---- */

static void top_draw(struct top *self)
{
    struct ald_buf page;
    ald_buf_init(&page, TOP_PAGE_MAX);
    screen_size(&self->view.rows, &self->view.columns);
    if (self->view.rows < TOP_ROWS_MIN)
        self->view.rows = TOP_ROWS_MIN;
    top_page(&self->view, top_before(self), self->looks[1], &page);
    screen_show(ald_buf_span(&page));
    ald_buf_free(&page);
}

/* False: quit. */
static bool top_key(struct top *self, int key)
{
    size_t last = self->looks[1]->providers > 0 ? self->looks[1]->providers - 1 : 0;
    if (key == 'q' || key == 'Q')
        return false;
    if (key == 'p' || key == ' ')
        self->view.paused = !self->view.paused;
    if (key == '?' || key == 'h')
        self->view.help = !self->view.help;
    if ((key == 'j' || key == SCREEN_KEY_DOWN) && self->view.chosen < last)
        self->view.chosen++;
    if ((key == 'k' || key == SCREEN_KEY_UP) && self->view.chosen > 0)
        self->view.chosen--;
    return true;
}

/* Until it is time for the next look. False: the end. */
static bool top_wait(struct top *self)
{
    int64_t until_ms = self->looks[1]->mono_ms + self->every_ms;
    for (;;) {
        int key = 0;
        int64_t left_ms = until_ms - ald_clock_now().mono_ms;
        if (self->view.paused)
            left_ms = self->every_ms;
        enum screen_event event = screen_wait(left_ms > 0 ? left_ms : 0, &key);
        if (event == SCREEN_END || (event == SCREEN_KEY && !top_key(self, key)))
            return false;
        if (event == SCREEN_TIME && !self->view.paused)
            return true;
        if (event != SCREEN_TIME)
            top_draw(self);
    }
}

static int top_live(struct top *self)
{
    if (screen_open() != ALD_OK) {
        ctl_say("The terminal can't be used; have the output go to a file, or say --json.");
        return CTL_FAILED;
    }
    self->view.keys = true;
    do {
        top_look(self);
        top_draw(self);
    } while (top_wait(self));
    screen_close();
    return CTL_OK;
}

static bool top_every(struct top *self)
{
    const char *text = self->ctl->args->text[ARG_EVERY];
    self->every_ms = TOP_EVERY_MS;
    self->view.every = text ? text : "1s";
    if (text == NULL || (ald_text_duration_ms(ald_span_str(text), &self->every_ms) == ALD_OK &&
                         self->every_ms >= TOP_EVERY_LEAST_MS))
        return true;
    ctl_say("--every takes a time from 100ms on, such as 2s, not '%.40s'.", CTL_SAFE(text));
    return false;
}

int top_show(struct ctl *ctl, const struct args *args)
{
    struct top self = {.ctl = ctl, .view = {.color = ctl->color, .columns = 0}};
    if (!top_every(&self))
        return CTL_USAGE;
    int code = ctl_connect(ctl);
    if (code != CTL_OK)
        return code;
    self.view.url = CTL_SAFE(ctl->base);
    for (size_t i = 0; i < ALD_COUNT(self.looks); i++) {
        self.looks[i] = calloc(1, sizeof *self.looks[i]);
        ALD_ASSERT(self.looks[i] != NULL);
    }
    bool live = isatty(STDOUT_FILENO) && !args_has(args, ARG_JSON) && !args_has(args, ARG_COUNT);
    code = live ? top_live(&self) : top_lines(&self);
    free(self.looks[0]);
    free(self.looks[1]);
    return code;
}

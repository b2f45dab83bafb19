/* `canary`: a task of its own goes the whole way that a provider's callback goes, again and again:
 * reserved over the API, called back at its callback URL as the provider would, seen as ended. */
#include <string.h>

#include "common/base/clock.h"
#include "common/base/codec.h"
#include "common/base/failpoint.h"
#include "common/base/ident.h"
#include "common/base/json_out.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/file.h"
#include "proto/msg_limits.h"
#include "services/ctl/commands.h"

enum {
    CANARY_ASK_MS = 30000,
    CANARY_WITHIN_MS = 30000,
    CANARY_WITHIN_MAX_MS = 60000, /* as long as the API waits for a task */
    CANARY_EVERY_LEAST_MS = 1000,
    CANARY_BODY_MAX = 1 << 20,
    CANARY_FILE_MAX = 4096
};

#define CANARY_FORM "application/x-www-form-urlencoded"

struct canary {
    struct ctl *ctl;
    const char *provider;
    const char *textfile; /* NULL: none is written */
    int64_t within_ms;
    int64_t every_ms; /* 0: once */
    struct ald_buf message;
    const char *type;
    char key[ALD_ULID_MAX]; /* of a task that was asked for and not answered; "": none is */
    int64_t back_ms;        /* wall: when the last one came back; 0 = none has */
};

/* One that is under way, and how it went. */
struct canary_flight {
    char task[33];
    char url[ALD_CALLBACK_URL_MAX];
    char step[ALD_TEXT_MAX]; /* what failed; "": it came back */
    int64_t took_ms;
};

/* ---- one ---- */

/* One whose answer was lost may be there: asked for by the same key it is the same one, so that no
 * other is left behind for each time. */
static int canary_reserve(struct canary *self, struct canary_flight *flight)
{
    struct ald_json task;
    bool again = self->key[0] != '\0';
    if (!again)
        ald_ulid_new(self->key);
    struct ald_buf body;
    ald_buf_init(&body, CANARY_FILE_MAX);
    struct ald_json_out out = ald_json_out_begin(&body);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "provider", self->provider);
    ald_json_out_text(&out, "meta", "canary");
    ald_json_out_close_object(&out);
    const struct api_request request = {.method = "POST",
                                        .path = "/v1/tasks",
                                        .body = ald_buf_str(&body),
                                        .key = self->key,
                                        .timeout_ms = CANARY_ASK_MS};
    int code = ctl_ask(self->ctl, &request, &task);
    ald_buf_free(&body);
    if (code != CTL_OK) {
        ald_text_cut(flight->step, sizeof flight->step, ald_span_str("no task could be made"));
        return code;
    }
    (void)pick_word(task, "/id", flight->task, sizeof flight->task);
    (void)pick_word(task, "/callback_url", flight->url, sizeof flight->url);
    self->key[0] = '\0';
    if (again && pick_int(task, "/ended_ms") > 0) /* too late for that one */
        return canary_reserve(self, flight);
    return CTL_OK;
}

/* As the provider would: at the public address, without any token of ours. */
static int canary_call(struct canary *self, struct canary_flight *flight)
{
    char base[ALD_CALLBACK_URL_MAX];
    struct api_answer answer;
    struct ald_err err = {0};
    const char *path = strstr(flight->url, "/cb/");
    if (!path) {
        ald_text_cut(flight->step, sizeof flight->step, ald_span_str("it has no callback URL"));
        return CTL_FAILED;
    }
    ald_text_cut(base, sizeof base, ald_span_of(flight->url, (size_t)(path - flight->url)));
    api_t *api = api_new(base, NULL);
    api_answer_init(&answer);
    const struct api_request request = {.method = "POST",
                                        .path = path,
                                        .body = ald_buf_str(&self->message),
                                        .type = self->type,
                                        .timeout_ms = CANARY_ASK_MS};
    enum ald_rc rc = api_call(api, &request, &answer, &err);
    if (rc != ALD_OK)
        (void)snprintf(flight->step, sizeof flight->step,
                       "the callback was not answered at %.100s: %.100s", base, err.text);
    else if (answer.status != 200)
        (void)snprintf(flight->step, sizeof flight->step,
                       "the callback was answered with %ld at %.100s", answer.status, base);
    api_answer_free(&answer);
    api_destroy(&api);
    return flight->step[0] == '\0' ? CTL_OK : CTL_FAILED;
}

static int canary_see(const struct canary *self, struct canary_flight *flight)
{
    char path[128];
    char state[33] = "";
    char source[PICK_SOURCE_MAX];
    struct ald_json task;
    (void)snprintf(path, sizeof path, "/v1/tasks/%.33s?wait=%lldms", flight->task,
                   (long long)self->within_ms);
    const struct api_request request = {.path = path, .timeout_ms = 2 * CANARY_WITHIN_MAX_MS};
    int code = ctl_ask(self->ctl, &request, &task);
    if (code == CTL_OK)
        (void)pick_word(task, "/state", state, sizeof state);
    if (code == CTL_OK && strcmp(state, "done") == 0 &&
        strcmp(pick_source(task, source), "callback") == 0)
        return CTL_OK;
    (void)snprintf(flight->step, sizeof flight->step,
                   code == CTL_OK ? "its task is %.33s%s after the callback was taken"
                                  : "its task can't be seen%.0s%.0s",
                   state, strcmp(state, "done") == 0 ? ", but not by callback," : "");
    return code == CTL_OK ? CTL_FAILED : code;
}

/* It is nobody's work: nobody should wait for it. */
static void canary_cancel(const struct canary *self, const struct canary_flight *flight)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/tasks/%.33s/cancel", flight->task);
    const struct api_request request = {
        .method = "POST", .path = path, .body = "{}", .timeout_ms = CANARY_ASK_MS};
    (void)ctl_call(self->ctl, &request);
}

static int canary_fly(struct canary *self, struct canary_flight *flight)
{
    int64_t began_ms = ald_clock_now().mono_ms;
    *flight = (struct canary_flight){0};
    int code = canary_reserve(self, flight);
    if (code != CTL_OK)
        return code;
    code = canary_call(self, flight);
    if (code == CTL_OK)
        code = canary_see(self, flight);
    flight->took_ms = ald_clock_now().mono_ms - began_ms;
    if (code != CTL_OK)
        canary_cancel(self, flight);
    else
        self->back_ms = ald_clock_now().wall_ms;
    return code;
}

/* ---- what is told of it ---- */

static void canary_print(const struct canary *self, const struct canary_flight *flight)
{
    struct ctl *ctl = self->ctl;
    bool good = flight->step[0] == '\0';
    if (ctl_json(ctl)) {
        struct ald_json_out out = ald_json_out_begin(&ctl->out);
        ald_json_out_object(&out, NULL);
        ald_json_out_text(&out, "provider", self->provider);
        ald_json_out_bool(&out, "back", good);
        ald_json_out_text(&out, "task", flight->task);
        ald_json_out_int(&out, "took_ms", flight->took_ms);
        ald_json_out_text(&out, "failed", flight->step);
        ald_json_out_close_object(&out);
        ald_buf_put_byte(&ctl->out, '\n');
    } else if (good && !args_has(ctl->args, ARG_QUIET)) {
        ald_buf_printf(&ctl->out, "%s: task %s is back after %lld ms\n", self->provider,
                       flight->task, (long long)flight->took_ms);
    }
    if (!good)
        ctl_say("The canary of %s has not come back: %s.", CTL_SAFE(self->provider),
                CTL_SAFE(flight->step));
    ctl_flush(ctl);
}

static struct ald_metric canary_up = {.kind = ALD_GAUGE,
                                      .name = "aldaba_canary_up",
                                      .help = "1 when the last canary came back.",
                                      .label = {"provider"}};
static struct ald_metric canary_took = {.kind = ALD_GAUGE_MS,
                                        .name = "aldaba_canary_duration_seconds",
                                        .help = "How long the last canary was under way.",
                                        .label = {"provider"}};
static struct ald_metric canary_back = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_canary_back_timestamp_seconds",
    .help = "When a canary came back last, since 1970; 0: none has since the command runs.",
    .label = {"provider"}};

static bool canary_put(const char *path, struct ald_span page)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    bool good = fwrite(page.data, 1, page.len, file) == page.len;
    return fclose(file) == 0 && good;
}

/* For the textfile collector of Prometheus' node exporter, which wants a file to appear whole. */
static bool canary_write(const struct canary *self, const struct canary_flight *flight)
{
    char next[ALD_PATH_MAX];
    struct ald_buf page;
    const char *const name[] = {self->textfile, ".new"};
    if (ald_text_join(next, sizeof next, name, ALD_COUNT(name)) != ALD_OK)
        return false;
    ald_metric_register(&canary_up);
    ald_metric_register(&canary_took);
    ald_metric_register(&canary_back);
    ald_metric_set(ald_metrics_get(canary_up.name, self->provider), flight->step[0] == '\0');
    ald_metric_set(ald_metrics_get(canary_took.name, self->provider), flight->took_ms);
    ald_metric_set(ald_metrics_get(canary_back.name, self->provider), self->back_ms);
    ald_buf_init(&page, CANARY_FILE_MAX);
    ald_metrics_write(&page);
    bool good = ald_buf_ok(&page) && canary_put(next, ald_buf_span(&page)) &&
                ALD_FAILPOINT("canary.rename", rename(next, self->textfile), -1) == 0;
    ald_buf_free(&page);
    return good;
}

static int canary_go(struct canary *self)
{
    int code = CTL_OK;
    for (bool more = true; more; more = self->every_ms > 0 && !ferror(stdout)) {
        struct canary_flight flight;
        int64_t next_ms = ald_clock_now().mono_ms + self->every_ms;
        code = canary_fly(self, &flight);
        canary_print(self, &flight);
        if (self->textfile && !canary_write(self, &flight)) {
            ctl_say("The metrics can't be written to %s.", CTL_SAFE(self->textfile));
            code = CTL_FAILED;
        }
        int64_t left_ms = next_ms - ald_clock_now().mono_ms;
        if (self->every_ms > 0 && left_ms > 0)
            ctl_pause(left_ms);
    }
    return code;
}

/* ---- the command line ---- */

/* k=v words become a form. */
static bool canary_form(const struct args *args, struct ald_buf *out)
{
    for (size_t i = 1; i < args->words; i++) {
        const char *equals = strchr(args->word[i], '=');
        if (!equals || equals == args->word[i]) {
            ctl_say("\"%s\" is no part of a form: write k=text, or say --body.",
                    CTL_SAFE(args->word[i]));
            return false;
        }
        if (out->len > 0)
            ald_buf_put_byte(out, '&');
        ald_percent_encode(out, ald_span_of(args->word[i], (size_t)(equals - args->word[i])));
        ald_buf_put_byte(out, '=');
        ald_percent_encode(out, ald_span_str(equals + 1));
    }
    return true;
}

static bool canary_message(struct canary *self, const struct args *args)
{
    const char *body = args->text[ARG_BODY];
    if ((body != NULL) == (args->words > 1)) {
        ctl_say("Say what the provider would: words k=text, which become a form, or --body.");
        return false;
    }
    self->type = args_has(args, ARG_TYPE) ? args->text[ARG_TYPE] : body ? NULL : CANARY_FORM;
    if (!body)
        return canary_form(args, &self->message);
    if (body[0] != '@') {
        ald_buf_put_str(&self->message, body);
        return true;
    }
    if (ald_file_read(body + 1, &self->message) != ALD_OK) {
        ctl_say("%s can't be read.", CTL_SAFE(body + 1));
        return false;
    }
    struct ald_span message = ald_buf_span(&self->message);
    if (ald_span_find(message, '\0') == message.len)
        return true;
    ctl_say("%s holds a byte 0, behind which nothing would be sent: a canary says a text.",
            CTL_SAFE(body + 1));
    return false;
}

/* False: it was said what is wrong. */
static bool canary_time(const char *option, const char *text, int64_t least_ms, int64_t most_ms,
                        int64_t *out)
{
    if (text == NULL || (ald_text_duration_ms(ald_span_str(text), out) == ALD_OK &&
                         *out >= least_ms && *out <= most_ms))
        return true;
    ctl_say("--%s takes a time from %lldms to %lldms, such as 10s, not '%.40s'.", option,
            (long long)least_ms, (long long)most_ms, CTL_SAFE(text));
    return false;
}

int canary_show(struct ctl *ctl, const struct args *args)
{
    struct canary self = {.ctl = ctl,
                          .provider = args->word[0],
                          .textfile = args->text[ARG_TEXTFILE],
                          .within_ms = CANARY_WITHIN_MS};
    ald_buf_init(&self.message, CANARY_BODY_MAX);
    int code = CTL_USAGE;
    if (canary_time("every", args->text[ARG_EVERY], CANARY_EVERY_LEAST_MS, INT32_MAX,
                    &self.every_ms) &&
        canary_time("within", args->text[ARG_WITHIN], 1, CANARY_WITHIN_MAX_MS, &self.within_ms) &&
        canary_message(&self, args))
        code = canary_go(&self);
    ald_buf_free(&self.message);
    return code;
}

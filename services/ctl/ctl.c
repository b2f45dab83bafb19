#include "services/ctl/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/codec.h"
#include "common/base/text.h"

enum {
    CTL_OUT_MAX = 512 << 20,
    CTL_SHOWN_MAX = 4096,
    CTL_NAME_WIDTH = 13,
    CTL_PROVIDERS_MAX = 512,
    CTL_PROVIDERS_MS = 15000
};

void ctl_begin(struct ctl *self, const struct args *args)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    *self = (struct ctl){.args = args};
    self->color = isatty(STDOUT_FILENO) && !args_has(args, ARG_NO_COLOR) &&
                  (no_color == NULL || no_color[0] == '\0') &&
                  (term == NULL || strcmp(term, "dumb") != 0);
    ald_buf_init(&self->out, CTL_OUT_MAX);
    api_answer_init(&self->answer);
}

int ctl_end(struct ctl *self, int code)
{
    bool whole = ald_buf_ok(&self->out);
    ctl_flush(self);
    whole = !ferror(stdout) && whole;
    ald_buf_free(&self->out);
    api_answer_free(&self->answer);
    api_destroy(&self->api);
    if (!whole)
        ctl_say("Not everything could be written to stdout.");
    return code == CTL_OK && !whole ? CTL_FAILED : code;
}

void ctl_say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)fputs("aldaba: ", stderr);
    (void)vfprintf(stderr, format, values);
    (void)fputc('\n', stderr);
    va_end(values);
}

const char *ctl_safe(struct ctl_safe *room, const char *text)
{
    struct ald_buf escaped;
    ald_buf_init(&escaped, 4 * strlen(text) + 1);
    ald_text_show(&escaped, ald_span_str(text));
    ald_text_cut(room->text, sizeof room->text, ald_buf_span(&escaped));
    ald_buf_free(&escaped);
    return room->text;
}

void ctl_flush(struct ctl *self)
{
    if (self->out.len > 0)
        (void)fwrite(self->out.data, 1, self->out.len, stdout);
    (void)fflush(stdout);
    ald_buf_reset(&self->out);
}

int ctl_settings_wrong(struct ald_errors *errors)
{
    if (errors->count == 0)
        return CTL_OK;
    ald_errors_sort(errors);
    (void)fputs(ald_errors_text(errors), stderr);
    ctl_say("%zu error%s in the settings: mend what is named above.", errors->count,
            errors->count == 1 ? "" : "s");
    return CTL_CONFIG;
}

int ctl_settings(const struct ctl *self, struct ald_settings *out)
{
    struct ald_errors errors;
    ald_errors_init(&errors);
    enum ald_rc rc = ald_settings_load(self->args->text[ARG_CONFIG], NULL, 0, &errors, out);
    int code = rc == ALD_OK ? CTL_OK : ctl_settings_wrong(&errors);
    ald_errors_free(&errors);
    return code;
}

/* The private listener as a client reaches it: who listens everywhere listens here too. */
static void ctl_base_of(struct ctl *self, const char *listen)
{
    const char *colon = strrchr(listen, ':');
    if (strncmp(listen, "0.0.0.0:", 8) == 0 && colon != NULL)
        (void)snprintf(self->base, sizeof self->base, "http://127.0.0.1%s", colon);
    else
        (void)snprintf(self->base, sizeof self->base, "http://%s", listen);
}

int ctl_connect(struct ctl *self)
{
    const char *url = self->args->text[ARG_URL] ? self->args->text[ARG_URL] : getenv("ALDABA_URL");
    const char *token = getenv("ALDABA_TOKEN");
    if (self->api != NULL)
        return CTL_OK;
    if (url != NULL && url[0] != '\0') {
        ald_text_cut(self->base, sizeof self->base, ald_span_str(url));
        self->api = api_new(self->base, token);
        return CTL_OK;
    }
    struct ald_settings settings;
    int code = ctl_settings(self, &settings);
    if (code != CTL_OK)
        return code;
    ctl_base_of(self, settings.gateway.private);
    if (token == NULL && settings.gateway.tokens.count > 0)
        token = settings.gateway.tokens.item[0];
    else if (token == NULL && settings.gateway.read_tokens.count > 0)
        token = settings.gateway.read_tokens.item[0];
    self->api = api_new(self->base, token);
    ald_settings_free(&settings);
    return CTL_OK;
}

int ctl_unreachable(struct ctl *self, enum ald_rc rc, const struct ald_err *err)
{
    if (rc == ALD_TIMEOUT) {
        ctl_say("The gateway at %s did not answer in time; try again.", CTL_SAFE(self->base));
        return CTL_AGAIN;
    }
    if (rc == ALD_INVALID) {
        ctl_say("No request can be sent to %s: %s.", CTL_SAFE(self->base), err->text);
        return CTL_USAGE;
    }
    if (rc == ALD_TOOBIG) {
        ctl_say("The answer is too large; ask for less, with --limit.");
        return CTL_FAILED;
    }
    ctl_say("No gateway answers at %s (%s). Start it, or name another with --url or --config.",
            CTL_SAFE(self->base), err->text);
    return CTL_UNREACHABLE;
}

static int ctl_exit_of(long status)
{
    return status == 429 || (status >= 502 && status <= 504) ? CTL_AGAIN : CTL_FAILED;
}

int ctl_refused(struct ctl *self)
{
    char detail[512] = "";
    struct ald_json problem;
    if (ald_json_scan(ald_buf_span(&self->answer.body), &problem, NULL) == ALD_OK) {
        (void)pick_word(problem, "/detail", detail, sizeof detail);
        if (detail[0] == '\0')
            (void)pick_word(problem, "/title", detail, sizeof detail);
    }
    if (self->answer.status == 401 || self->answer.status == 403)
        ctl_say("The gateway wants a token (%ld): put it in $ALDABA_TOKEN.", self->answer.status);
    else if (detail[0] != '\0')
        ctl_say("%s (%ld)", CTL_SAFE(detail), self->answer.status);
    else
        ctl_say("The gateway at %s answered %ld.", CTL_SAFE(self->base), self->answer.status);
    int code = ctl_exit_of(self->answer.status);
    if (code == CTL_AGAIN)
        ctl_say("That may pass: try again in a moment.");
    return code;
}

int ctl_call(struct ctl *self, const struct api_request *request)
{
    struct ald_err err = {0};
    int code = ctl_connect(self);
    if (code != CTL_OK)
        return code;
    enum ald_rc rc = api_call(self->api, request, &self->answer, &err);
    return rc == ALD_OK ? CTL_OK : ctl_unreachable(self, rc, &err);
}

/* What was answered, as ctl_ask gives it. */
static int ctl_take(struct ctl *self, struct ald_json *out)
{
    if (self->answer.status < 200 || self->answer.status > 299)
        return ctl_refused(self);
    *out = (struct ald_json){.kind = ALD_JSON_NONE};
    struct ald_span body = ald_buf_span(&self->answer.body);
    if (body.len == 0 || ald_json_scan(body, out, NULL) == ALD_OK)
        return CTL_OK;
    ctl_say("What answers at %s is no gateway of aldaba: its answer is no JSON.",
            CTL_SAFE(self->base));
    return CTL_FAILED;
}

int ctl_ask(struct ctl *self, const struct api_request *request, struct ald_json *out)
{
    int code = ctl_call(self, request);
    return code == CTL_OK ? ctl_take(self, out) : code;
}

int ctl_ask_again(struct ctl *self, const struct api_request *request, struct ald_json *out)
{
    struct ald_err err = {0};
    int code = ctl_connect(self);
    if (code != CTL_OK)
        return code;
    enum ald_rc rc = api_call(self->api, request, &self->answer, &err);
    if (rc == ALD_INVALID || rc == ALD_TOOBIG)
        return ctl_unreachable(self, rc, &err);
    if (rc != ALD_OK || ctl_exit_of(self->answer.status) == CTL_AGAIN)
        return CTL_AGAIN;
    return ctl_take(self, out);
}

void ctl_query(struct ald_buf *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    bool first = ald_span_find(ald_buf_span(path), '?') == path->len;
    ald_buf_printf(path, "%c%s=", first ? '?' : '&', name);
    ald_percent_encode(path, ald_span_str(value));
}

void ctl_path(struct ald_buf *path, const char *word)
{
    ald_buf_put_byte(path, '/');
    ald_percent_encode(path, ald_span_str(word));
}

void ctl_put(struct ctl *self, struct ald_span text)
{
    struct ald_span shown = text;
    if (shown.len > CTL_SHOWN_MAX)
        shown.len = CTL_SHOWN_MAX;
    ald_text_show(&self->out, shown);
    if (shown.len < text.len)
        ald_buf_printf(&self->out, "... (%zu bytes in all; --json shows them)", text.len);
}

static void ctl_line_name(struct ctl *self, const char *name)
{
    char padded[40];
    (void)snprintf(padded, sizeof padded, "%-*s ", CTL_NAME_WIDTH, name);
    tone_write(&self->out, padded, TONE_DIM, self->color);
}

void ctl_line(struct ctl *self, const char *name, const char *value, enum tone tone)
{
    if (tone == TONE_PLAIN) {
        ctl_line_span(self, name, ald_span_str(value));
        return;
    }
    if (value[0] == '\0')
        return;
    ctl_line_name(self, name);
    tone_write(&self->out, CTL_SAFE(value), tone, self->color);
    ald_buf_put_byte(&self->out, '\n');
}

void ctl_line_span(struct ctl *self, const char *name, struct ald_span value)
{
    if (value.len == 0)
        return;
    ctl_line_name(self, name);
    ctl_put(self, value);
    ald_buf_put_byte(&self->out, '\n');
}

bool ctl_confirm(const struct ctl *self, const char *question)
{
    char answer[16] = "";
    if (args_has(self->args, ARG_YES))
        return true;
    if (!isatty(STDIN_FILENO)) {
        ctl_say("%s Nobody is there to ask: say --yes if you mean it.", question);
        return false;
    }
    (void)fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

/* The names of /v1/providers; 0: nobody says. */
static size_t ctl_provider_names(struct ctl *self, char names[CTL_PROVIDERS_MAX][ALD_NAME_MAX])
{
    struct ald_json answer;
    struct ald_json provider;
    struct ald_span key;
    size_t count = 0;
    const struct api_request request = {.path = "/v1/providers", .timeout_ms = CTL_PROVIDERS_MS};
    if (ctl_call(self, &request) != CTL_OK || self->answer.status != 200 ||
        ald_json_scan(ald_buf_span(&self->answer.body), &answer, NULL) != ALD_OK)
        return 0;
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/providers"));
    while (ald_json_walk_next(&walk, &key, &provider) && count < CTL_PROVIDERS_MAX)
        (void)pick_word(provider, "/name", names[count++], ALD_NAME_MAX);
    return count;
}

int ctl_provider_known(struct ctl *self, const char *provider)
{
    char names[CTL_PROVIDERS_MAX][ALD_NAME_MAX];
    const char *list[CTL_PROVIDERS_MAX];
    size_t count = provider != NULL ? ctl_provider_names(self, names) : 0;
    for (size_t i = 0; i < count; i++) {
        list[i] = names[i];
        if (strcmp(names[i], provider) == 0)
            return CTL_OK;
    }
    if (count == 0 || count == CTL_PROVIDERS_MAX)
        return CTL_OK;
    const char *near = ald_text_nearest(provider, list, count);
    if (near != NULL)
        ctl_say("There is no provider %s; did you mean %s?", CTL_SAFE(provider), CTL_SAFE(near));
    else
        ctl_say("There is no provider %s; 'aldaba provider status' lists them.",
                CTL_SAFE(provider));
    return CTL_FAILED;
}

void ctl_pause(int64_t wait_ms)
{
    struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000};
    (void)nanosleep(&wait, NULL);
}

enum tone ctl_tone(const char *state)
{
    static const struct {
        const char *state;
        enum tone tone;
    } tones[] = {{"done", TONE_GOOD},      {"resolved", TONE_GOOD}, {"failed", TONE_BAD},
                 {"lost", TONE_BAD},       {"expired", TONE_BAD},   {"held", TONE_BAD},
                 {"cancelled", TONE_DIM},  {"dropped", TONE_DIM},   {"open", TONE_WAIT},
                 {"pending", TONE_WAIT},   {"polling", TONE_WAIT},  {"accepted", TONE_WAIT},
                 {"submitting", TONE_WAIT}};
    for (size_t i = 0; i < ALD_COUNT(tones); i++)
        if (strcmp(tones[i].state, state) == 0)
            return tones[i].tone;
    return TONE_PLAIN;
}

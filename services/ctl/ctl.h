/* ctl.h - what all commands share: where the gateway is, how to ask it, how to speak to a person.
 *
 * Facts go to stdout, everything else to stderr. With --json stdout holds JSON lines only, as they
 * came. What came from outside is escaped before it is shown. Exit codes are those of the help.
 * Threads: one.
 */
#ifndef ALD_CTL_CTL_H
#define ALD_CTL_CTL_H

#include <stdio.h>

#include "common/config/settings.h"
#include "services/ctl/api.h"
#include "services/ctl/args.h"
#include "services/ctl/pick.h"
#include "services/ctl/table.h"

enum ctl_exit {
    CTL_OK = 0,
    CTL_FAILED = 1,
    CTL_USAGE = 64,
    CTL_UNREACHABLE = 69,
    CTL_AGAIN = 75,
    CTL_CONFIG = 78
};

struct ctl {
    const struct args *args;
    bool color;         /* on stdout */
    struct ald_buf out; /* of stdout, until ctl_flush */
    api_t *api;         /* NULL until ctl_connect */
    char base[ALD_ENDPOINT_MAX + 16];
    struct api_answer answer; /* the last one */
};

void ctl_begin(struct ctl *self, const struct args *args);
/* Flush and free. Returns code, or CTL_FAILED when stdout took not everything. */
int ctl_end(struct ctl *self, int code);

static inline bool ctl_json(const struct ctl *self)
{
    return args_has(self->args, ARG_JSON);
}

/* To stderr: "aldaba: " and whole sentences, what is wrong, where, and what to do next. Everything
 * that is said goes through here, but for the lines about settings, which editors can follow.
 * Values from outside go through ctl_safe. */
void ctl_say(const char *format, ...) ALD_PRINTF(1, 2);

/* Room for a text that may be shown. */
struct ctl_safe {
    char text[512];
};
const char *ctl_safe(struct ctl_safe *room, const char *text);
#define CTL_SAFE(text) ctl_safe(&(struct ctl_safe){{0}}, (text))

/* Load the settings of --config. CTL_OK: settings_free them. CTL_CONFIG: all errors were said. */
int ctl_settings(const struct ctl *self, struct ald_settings *out);

/* Say what is wrong with settings, a line each, as `file:line:column: sentence`. CTL_OK: nothing
 * is; else CTL_CONFIG. */
int ctl_settings_wrong(struct ald_errors *errors);

/* Find the gateway, once. CTL_OK or an exit code, said why. */
int ctl_connect(struct ctl *self);

/* Connect and ask, whatever the status: it is in self->answer. CTL_OK or an exit code, said why. */
int ctl_call(struct ctl *self, const struct api_request *request);

/* Connect and ask. CTL_OK: the status is 2xx and *out is the answer, borrowed until the next
 * question. Else the exit code, and it was said what is wrong and what to do next. */
int ctl_ask(struct ctl *self, const struct api_request *request, struct ald_json *out);

/* As ctl_ask, for who asks until there is an answer: CTL_AGAIN, and nothing is said, when nobody
 * answers or the answer says that it may pass. */
int ctl_ask_again(struct ctl *self, const struct api_request *request, struct ald_json *out);

/* Say why the last question failed; the exit code. ctl_ask does it by itself. */
int ctl_refused(struct ctl *self);
int ctl_unreachable(struct ctl *self, enum ald_rc rc, const struct ald_err *err);

/* Append "&name=value", value encoded; nothing when value is NULL. The first gets the '?'. */
void ctl_query(struct ald_buf *path, const char *name, const char *value);
/* Append "/word", encoded. */
void ctl_path(struct ald_buf *path, const char *word);

/* Write what gathered in out to stdout. */
void ctl_flush(struct ctl *self);

/* Append "name   value\n" for people, escaped; nothing when the value is empty. */
void ctl_line(struct ctl *self, const char *name, const char *value, enum tone tone);
void ctl_line_span(struct ctl *self, const char *name, struct ald_span value);
/* Append a text escaped, cut after a while. */
void ctl_put(struct ctl *self, struct ald_span text);

/* Ask yes or no on the terminal, unless --yes. False: no, or nobody is there to ask. */
bool ctl_confirm(const struct ctl *self, const char *question);

/* Nothing was found, and the filter named a provider: is there such a one? CTL_OK: there is, or
 * nobody knows. CTL_FAILED: there is none, and it was said which one may be meant. */
int ctl_provider_known(struct ctl *self, const char *provider);

/* Let a little time pass. */
void ctl_pause(int64_t wait_ms);

/* The tone that a state of tasks or letters is shown in. */
enum tone ctl_tone(const char *state);

#endif

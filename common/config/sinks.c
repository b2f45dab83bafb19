#include "common/config/sinks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/config/request.h"
#include "common/config/setting.h"
#include "proto/words.h"

enum { SINKS_SECRET_LEAST = 24 /* bytes, as the standard wants */ };

struct ald_sinks {
    size_t count;
    struct ald_sink list[];
};

#define FIELD(name) offsetof(struct ald_sink, name), sizeof(((struct ald_sink *)0)->name)
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* key, kind, field, default, least, most, flags, words, help */
static const struct ald_setting SINK_ROWS[] = {
    {"url", ALD_SETTING_TEXT, FIELD(url), "", 0, 0, 0, NULL,
     "Where events are posted; http or https."},
    {"provider", ALD_SETTING_TEXT, FIELD(provider), "", 0, 0, 0, NULL,
     "Only events of this provider; empty: of all."},
    {"state", ALD_SETTING_TEXT, FIELD(state), "", 0, 0, 0, NULL,
     "Only events of this state, such as done; empty: of all."},
    {"from", ALD_SETTING_WORD, FIELD(from), "new", 0, 0, 0, "new all",
     "Where a new one begins: with what ends from now on, or with all that is kept."},
    {"timeout", ALD_SETTING_DURATION, FIELD(timeout_ms), "15s", 100, 5 * MINUTE, 0, NULL,
     "How long a post may take until its answer."},
    {"max_in_flight", ALD_SETTING_INT, FIELD(max_in_flight), "16", 1, 1000, 0, NULL,
     "Posts under way at once; 1: one after the other."},
    {"max_deliver", ALD_SETTING_INT, FIELD(max_deliver), "12", 1, 1000, 0, NULL,
     "Tries of one event; then it is a dead letter."},
    {"first_after", ALD_SETTING_DURATION, FIELD(first_after_ms), "5s", 10, 1 * HOUR, 0, NULL,
     "Wait before the second try of an event; each further wait is twice as long."},
    {"max_after", ALD_SETTING_DURATION, FIELD(max_after_ms), "10m", 10, 24 * HOUR, 0, NULL,
     "Longest wait between two tries, and between two probes of a sink that is down."},
};

static const char *const SINK_OTHERS[] = {"secret", "secrets", NULL};

static const struct ald_setting_table SINK_TABLE = {
    .rows = SINK_ROWS, .count = ALD_COUNT(SINK_ROWS), .foreign = SINK_OTHERS};

const struct ald_setting_table *ald_sinks_table(void)
{
    return &SINK_TABLE;
}

/* A loading under way. */
struct sinks_load {
    bool resolve;
    struct ald_errors *errors;
    struct ald_sink *out;
};

static void sinks_secret(const struct sinks_load *self, const struct ald_node *node)
{
    struct ald_secret_list *list = &self->out->secrets;
    char text[ALD_SIGNING_SECRET_MAX];
    if (!ald_setting_secret(node, self->resolve, self->errors, text, sizeof text) || !self->resolve)
        return;
    if (ald_webhook_secret(list, text) != ALD_OK)
        ald_errors_add(self->errors, node, "The secret must be whsec_ and base64.");
    else if (list->at[list->count - 1].len < SINKS_SECRET_LEAST)
        ald_errors_add(self->errors, node,
                       "The secret has fewer than %d bytes; make one with: echo whsec_$(openssl "
                       "rand -base64 32)",
                       SINKS_SECRET_LEAST);
    explicit_bzero(text, sizeof text);
}

static void sinks_secrets(const struct sinks_load *self, const struct ald_node *node)
{
    const struct ald_node *one = ald_node_find(node, "secret");
    const struct ald_node *many = ald_node_find(node, "secrets");
    if ((one == NULL) == (many == NULL)) {
        ald_errors_add(self->errors, node, "%s needs one of secret and secrets.", node->key);
    } else if (one != NULL) {
        sinks_secret(self, one);
    } else if (many->kind != ALD_NODE_LIST || many->count == 0 ||
               many->count > ALD_SECRET_LIST_MAX) {
        ald_errors_add(self->errors, many, "secrets must be a list of 1 to %d secrets.",
                       ALD_SECRET_LIST_MAX);
    } else {
        for (const struct ald_node *at = many->first; at != NULL; at = at->next)
            sinks_secret(self, at);
    }
}

/* The place of a setting of the sink, else of the sink. */
static const struct ald_node *sinks_place(const struct ald_node *node, const char *key)
{
    const struct ald_node *at = ald_node_find(node, key);
    return at != NULL ? at : node;
}

/* What no row can say. */
static void sinks_check(const struct sinks_load *self, const struct ald_node *node)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const struct ald_sink *sink = self->out;
    enum ald_state state = ALD_STATE_ACCEPTED;
    if (ald_text_copy(self->out->name, sizeof self->out->name, ald_span_str(node->key)) != ALD_OK ||
        sink->name[0] == '\0' || strspn(sink->name, letters) != strlen(sink->name))
        ald_errors_add(self->errors, node,
                       "The name of a sink has 1 to %d characters of a-z, 0-9, '.', '_' and '-'.",
                       ALD_CONSUMER_MAX - 1);
    if (!ald_url_ok(sink->url))
        ald_errors_add(self->errors, sinks_place(node, "url"),
                       "A sink needs a url of http:// or https://.");
    if (sink->state[0] != '\0' && (!ald_state_find(sink->state, &state) || !ald_state_ended(state)))
        ald_errors_add(self->errors, sinks_place(node, "state"),
                       "state must be one of: done failed lost expired cancelled.");
    if (sink->first_after_ms > sink->max_after_ms)
        ald_errors_add(self->errors, sinks_place(node, "first_after"),
                       "first_after must not be longer than max_after.");
}

static bool sinks_map(const struct ald_node *node, struct ald_errors *errors)
{
    if (node->kind == ALD_NODE_MAP)
        return true;
    ald_errors_add(errors, node, "%s must hold settings by their names.", node->key);
    return false;
}

static void sinks_load_one(const struct sinks_load *self, const struct ald_node *node)
{
    ald_setting_defaults(&SINK_TABLE, self->out);
    if (!sinks_map(node, self->errors))
        return;
    ald_setting_take_tree(&SINK_TABLE, node, self->errors, self->out);
    sinks_check(self, node);
    sinks_secrets(self, node);
}

enum ald_rc ald_sinks_load(const struct ald_node *sinks, bool resolve, struct ald_errors *errors,
                           ald_sinks_t **out)
{
    size_t before = errors->count;
    bool none = sinks == NULL || ald_node_null(sinks);
    *out = NULL;
    if (!none && !sinks_map(sinks, errors))
        return ALD_INVALID;
    if (!none && sinks->count > ALD_SINKS_MAX) {
        ald_errors_add(errors, sinks, "There are more than %d sinks.", ALD_SINKS_MAX);
        return ALD_INVALID;
    }
    ald_sinks_t *self = calloc(1, sizeof *self + (none ? 0 : sinks->count) * sizeof self->list[0]);
    ALD_ASSERT(self != NULL);
    for (const struct ald_node *node = none ? NULL : sinks->first; node != NULL;
         node = node->next) {
        const struct sinks_load load = {
            .resolve = resolve, .errors = errors, .out = &self->list[self->count++]};
        sinks_load_one(&load, node);
    }
    if (errors->count != before)
        ald_sinks_destroy(&self);
    *out = self;
    return self != NULL ? ALD_OK : ALD_INVALID;
}

void ald_sinks_destroy(ald_sinks_t **self_p)
{
    ald_sinks_t *self = *self_p;
    if (self == NULL)
        return;
    *self_p = NULL;
    explicit_bzero(self->list, self->count * sizeof self->list[0]);
    free(self);
}

size_t ald_sinks_count(const ald_sinks_t *self)
{
    return self == NULL ? 0 : self->count;
}

const struct ald_sink *ald_sinks_at(const ald_sinks_t *self, size_t index)
{
    ALD_ASSERT(self != NULL && index < self->count);
    return &self->list[index];
}

const struct ald_sink *ald_sinks_find(const ald_sinks_t *self, const char *name)
{
    for (size_t i = 0; i < ald_sinks_count(self); i++)
        if (strcmp(self->list[i].name, name) == 0)
            return &self->list[i];
    return NULL;
}

static void sinks_print_secrets(const struct ald_node *node, struct ald_buf *out)
{
    const struct ald_node *many = ald_node_find(node, "secrets");
    if (many == NULL || many->kind != ALD_NODE_LIST) {
        ald_buf_put_str(out, "    secret: \"***\"\n");
        return;
    }
    ald_buf_put_str(out, "    secrets: [");
    for (size_t i = 0; i < many->count; i++)
        ald_buf_put_str(out, i == 0 ? "\"***\"" : ", \"***\"");
    ald_buf_put_str(out, "]\n");
}

void ald_sinks_print(const struct ald_node *sinks, struct ald_buf *out)
{
    if (sinks == NULL || sinks->kind != ALD_NODE_MAP || sinks->count == 0)
        return;
    struct ald_errors unsaid;
    ald_errors_init(&unsaid);
    ald_buf_put_str(out, "sinks:\n");
    for (const struct ald_node *node = sinks->first; node != NULL; node = node->next) {
        struct ald_sink sink = {0};
        ald_setting_defaults(&SINK_TABLE, &sink);
        ald_setting_take_tree(&SINK_TABLE, node, &unsaid, &sink);
        ald_buf_printf(out, "  %s:\n", node->key);
        ald_setting_print(&SINK_TABLE, &sink, 4, out);
        sinks_print_secrets(node, out);
    }
    ald_errors_free(&unsaid);
}

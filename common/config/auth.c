#include "common/config/auth.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/auth_inside.h"
#include "common/config/setting_value.h"

enum { AUTH_REJECTED = 401, AUTH_STORED = 200, AUTH_NOT_STORED = 503 };

static const char AUTH_REJECTED_TEXT[] = "not authenticated";

/* The block's own words; what its schemes say is in auth_schemes.c. */
struct auth_words {
    char url_token[8];
    char on_fail[16];
};

#define FIELD(name) offsetof(struct auth_words, name), sizeof(((struct auth_words *)0)->name)

/* key, kind, field, default, least, most, flags, words, help */
static const struct ald_setting AUTH_ROWS[] = {
    {"url_token", ALD_SETTING_WORD, FIELD(url_token), "none", 0, 0, 0, "none path",
     "path: a proof counts only at the task's own URL."},
    {"on_fail", ALD_SETTING_WORD, FIELD(on_fail), "quarantine", 0, 0, 0, "hint quarantine reject",
     "What is done with a callback that does not prove its sender."},
};

static const char *const AUTH_OTHERS[] = {"source_ips", "header_secret", "standard_webhooks",
                                          "hmac",       "ed25519",       NULL};

static const struct ald_setting_table AUTH_TABLE = {
    .rows = AUTH_ROWS, .count = ALD_COUNT(AUTH_ROWS), .foreign = AUTH_OTHERS};

static void auth_words_load(const struct ald_node *block, struct ald_errors *errors,
                            struct auth_words *out)
{
    *out = (struct auth_words){0};
    ald_setting_defaults(&AUTH_TABLE, out);
    if (block != NULL)
        ald_setting_take_tree(&AUTH_TABLE, block, errors, out);
}

/* ---- answers ---- */

/* STATUS or [STATUS, TEXT]. */
static bool auth_answer(const struct ald_node *node, struct ald_errors *errors, unsigned *status,
                        const char **text)
{
    const struct ald_node *number = node->kind == ALD_NODE_LIST ? node->first : node;
    const struct ald_node *words = node->kind == ALD_NODE_LIST && number ? number->next : NULL;
    uint64_t value = 0;
    bool ok = number != NULL && number->kind == ALD_NODE_SCALAR && node->count <= 2 &&
              ald_text_u64(ald_span_str(number->text), &value) == ALD_OK && value >= 200 &&
              value < 600 && value / 100 != 3;
    if (words != NULL && (words->kind != ALD_NODE_SCALAR || strlen(words->text) >= AUTH_NAME_MAX))
        ok = false;
    if (!ok)
        ald_errors_add(errors, node,
                       "%s is a status of 200 to 299 or 400 to 599, or [STATUS, TEXT].", node->key);
    *status = (unsigned)value;
    *text = words != NULL ? words->text : NULL;
    return ok;
}

/* What a stored and an unstored callback is answered is promised and does not change. */
static void auth_ack_load(const struct ald_node *ack, struct ald_errors *errors,
                          struct ald_auth *out)
{
    out->rejected = AUTH_REJECTED;
    memcpy(out->rejected_text, AUTH_REJECTED_TEXT, sizeof AUTH_REJECTED_TEXT);
    if (ack == NULL)
        return;
    if (ack->kind != ALD_NODE_MAP) {
        ald_errors_add(errors, ack, "ack must hold settings by their names.");
        return;
    }
    for (const struct ald_node *node = ack->first; node != NULL; node = node->next) {
        bool stored = strcmp(node->key, "stored") == 0;
        bool not_stored = strcmp(node->key, "not_stored") == 0;
        unsigned status = 0;
        const char *text = NULL;
        if (!stored && !not_stored && strcmp(node->key, "rejected") != 0) {
            ald_errors_add(errors, node, "There is no setting callback.ack.%.64s.", node->key);
        } else if (auth_answer(node, errors, &status, &text)) {
            if (stored && status != AUTH_STORED)
                ald_errors_add(errors, node, "What is stored is answered 200.");
            if (not_stored && status != AUTH_NOT_STORED)
                ald_errors_add(errors, node, "What is not stored is answered 503.");
            if (stored || not_stored)
                continue;
            out->rejected = status;
            if (text != NULL)
                ald_text_cut(out->rejected_text, AUTH_NAME_MAX, ald_span_str(text));
        }
    }
}

/* ---- the block ---- */

ald_auth_t *ald_auth_load(const struct ald_node *profile, bool resolve, struct ald_errors *errors)
{
    ald_auth_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    const struct ald_node *callback = ald_node_find(profile, "callback");
    const struct ald_node *block = ald_node_find(callback, "auth");
    const struct auth_load load = {
        .profile = profile, .resolve = resolve, .errors = errors, .out = self};
    struct auth_words words;
    auth_words_load(block, errors, &words);
    self->url_token = strcmp(words.url_token, "path") == 0;
    self->on_fail = strcmp(words.on_fail, "hint") == 0     ? ALD_ON_FAIL_HINT
                    : strcmp(words.on_fail, "reject") == 0 ? ALD_ON_FAIL_REJECT
                                                           : ALD_ON_FAIL_QUARANTINE;
    auth_schemes_load(&load, block);
    auth_ack_load(ald_node_find(callback, "ack"), errors, self);
    return self;
}

void ald_auth_destroy(ald_auth_t **self_p)
{
    ald_auth_t *self = *self_p;
    if (self == NULL)
        return;
    explicit_bzero(self, sizeof *self);
    free(self);
    *self_p = NULL;
}

void ald_auth_print(const struct ald_node *profile, unsigned indent, struct ald_buf *out)
{
    const struct ald_node *callback = ald_node_find(profile, "callback");
    const struct ald_node *block = ald_node_find(callback, "auth");
    struct ald_errors unsaid;
    ald_errors_init(&unsaid);
    ald_auth_t *self = ald_auth_load(profile, false, &unsaid);
    const struct auth_load load = {.profile = profile, .errors = &unsaid, .out = self};
    struct auth_words words;
    auth_words_load(block, &unsaid, &words);
    ald_setting_print(&AUTH_TABLE, &words, indent, out);
    auth_schemes_print(&load, block, indent, out);
    int outer = indent >= 2 ? (int)indent - 2 : 0;
    const struct ald_setting text = {"rejected", ALD_SETTING_TEXT, 0, 0, "", 0, 0, 0, NULL, ""};
    ald_buf_printf(out, "%*sack:\n%*srejected: [%u, ", outer, "", (int)indent, "", self->rejected);
    ald_setting_write(&text, self->rejected_text, out);
    ald_buf_put_str(out, "]\n");
    ald_auth_destroy(&self);
    ald_errors_free(&unsaid);
}

bool ald_auth_asks(const ald_auth_t *self)
{
    return self->schemes != 0;
}

enum ald_on_fail ald_auth_on_fail(const ald_auth_t *self)
{
    return self->on_fail;
}

unsigned ald_auth_rejected(const ald_auth_t *self, const char **text)
{
    *text = self->rejected_text;
    return self->rejected;
}

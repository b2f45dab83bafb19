#include <string.h>
#include <strings.h>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "common/config/auth_inside.h"
#include "common/config/file.h"
#include "common/config/setting_value.h"

enum { AUTH_FILE_MAX = 256 * 1024, AUTH_PATH_MAX = 1024, AUTH_SECOND_MS = 1000 };

/* The block as the settings' tables fill it. */
struct auth_form {
    char name[AUTH_NAME_MAX];
    char header[AUTH_NAME_MAX];
    char format[8];
    char encoding[8];
    char prefix[AUTH_NAME_MAX];
    char version[17];
    char dedupe[AUTH_NAME_MAX];
    int64_t tolerance_ms;
    char message[AUTH_TEMPLATE_MAX];
    char signature[AUTH_NAME_MAX];
    char timestamp[AUTH_NAME_MAX];
    char key_file[AUTH_PATH_MAX];
    char key_jwks[AUTH_ADDRESS_MAX];
    int64_t key_cache_ms;
};

#define FIELD(name) offsetof(struct auth_form, name), sizeof(((struct auth_form *)0)->name)
#define DAY (INT64_C(86400000))

/* key, kind, field, default, least, most, flags, words, help */
static const struct ald_setting AUTH_HEADER_SECRET_ROWS[] = {
    {"name", ALD_SETTING_TEXT, FIELD(name), "", 0, 0, 0, NULL, "The header that holds the secret."},
};

static const struct ald_setting AUTH_STANDARD_WEBHOOKS_ROWS[] = {
    {"tolerance", ALD_SETTING_DURATION, FIELD(tolerance_ms), "300s", AUTH_SECOND_MS, 30 * DAY, 0,
     NULL, "How far the signed time may be from ours, both ways."},
    {"dedupe", ALD_SETTING_TEXT, FIELD(dedupe), "", 0, 0, 0, NULL,
     "The header that names the message; a second copy is known without it."},
};

static const struct ald_setting AUTH_HMAC_ROWS[] = {
    {"header", ALD_SETTING_TEXT, FIELD(header), "", 0, 0, 0, NULL,
     "The header that holds the signature."},
    {"format", ALD_SETTING_WORD, FIELD(format), "body", 0, 0, 0, "body t_v",
     "body: the body is signed; t_v: t=TIME,VERSION=SIGNATURE over TIME.BODY."},
    {"encoding", ALD_SETTING_WORD, FIELD(encoding), "hex", 0, 0, 0, "hex base64",
     "How the signature is written."},
    {"prefix", ALD_SETTING_TEXT, FIELD(prefix), "", 0, 0, 0, NULL,
     "What stands before the signature, such as sha256= in the format body."},
    {"version", ALD_SETTING_TEXT, FIELD(version), "v0", 0, 0, 0, NULL,
     "Which signatures of the format t_v count."},
    {"tolerance", ALD_SETTING_DURATION, FIELD(tolerance_ms), "300s", AUTH_SECOND_MS, 30 * DAY, 0,
     NULL, "How far the signed time of the format t_v may be from ours, both ways."},
};

static const struct ald_setting AUTH_ED25519_ROWS[] = {
    {"headers.sig", ALD_SETTING_TEXT, FIELD(signature), "", 0, 0, 0, NULL,
     "The header that holds the signature."},
    {"headers.ts", ALD_SETTING_TEXT, FIELD(timestamp), "", 0, 0, 0, NULL,
     "The header that holds the signed time; empty: none."},
    {"message", ALD_SETTING_TEXT, FIELD(message), "", 0, 0, 0, NULL,
     "What is signed, with ${header.NAME} and ${body} or ${sha256hex.body} in it."},
    {"sig_encoding", ALD_SETTING_WORD, FIELD(encoding), "hex", 0, 0, 0, "hex base64",
     "How the signature is written."},
    {"tolerance", ALD_SETTING_DURATION, FIELD(tolerance_ms), "300s", AUTH_SECOND_MS, 30 * DAY, 0,
     NULL, "How far the signed time may be from ours, both ways."},
};

static const struct ald_setting AUTH_KEYS_ROWS[] = {
    {"file", ALD_SETTING_PATH, FIELD(key_file), "", 0, 0, 0, NULL, "A file with a JWKS."},
    {"jwks", ALD_SETTING_TEXT, FIELD(key_jwks), "", 0, 0, 0, NULL,
     "Where the provider shows its JWKS, which is fetched; https:// alone."},
    {"cache", ALD_SETTING_DURATION, FIELD(key_cache_ms), "24h", AUTH_SECOND_MS, 365 * DAY, 0, NULL,
     "How long until what was fetched is fetched again."},
};

#define AUTH_TABLE(list, others)                                                                   \
    {                                                                                              \
        .rows = (list), .count = ALD_COUNT(list), .foreign = (others)                              \
    }

static void auth_take(const struct auth_load *self, const struct ald_setting_table *table,
                      const struct ald_node *node, struct auth_form *form)
{
    *form = (struct auth_form){0};
    ald_setting_defaults(table, form);
    ald_setting_take_tree(table, node, self->errors, form);
}

/* ---- secrets ---- */

/* ${secret.NAME}: the reference that stands in the profile's `secrets`. */
static const struct ald_node *auth_named(const struct auth_load *self, const struct ald_node *node)
{
    struct ald_span text = ald_span_str(node->text);
    char name[AUTH_NAME_MAX];
    if (!ald_span_starts(text, "${secret.") || ald_span_find(text, '}') + 1 != text.len ||
        ald_text_copy(name, sizeof name, ald_span_of(text.data + 9, text.len - 10)) != ALD_OK) {
        ald_errors_add(self->errors, node, "The secret of the profile is written ${secret.NAME}.");
        return NULL;
    }
    const struct ald_node *found = ald_node_find(ald_node_find(self->profile, "secrets"), name);
    if (found == NULL)
        ald_errors_add(self->errors, node, "There is no secret %s in secrets.", name);
    return found;
}

/* One secret as text into out; "" when it is not resolved. False: errors say why. */
static bool auth_secret(const struct auth_load *self, const struct ald_node *node,
                        char out[ALD_SIGNING_SECRET_MAX])
{
    out[0] = '\0';
    if (node->kind == ALD_NODE_SCALAR && node->template) {
        node = auth_named(self, node);
        return node != NULL &&
               ald_setting_secret(node, self->resolve, self->errors, out, ALD_SIGNING_SECRET_MAX);
    }
    if (node->kind == ALD_NODE_MAP)
        return ald_setting_secret(node, self->resolve, self->errors, out, ALD_SIGNING_SECRET_MAX);
    if (!node->variable) {
        ald_errors_add(
            self->errors, node,
            "A secret is written as {env: VAR}, {file: PATH}, ${VAR} or ${secret.NAME}.");
        return false;
    }
    if (node->text[0] == '\0' ||
        ald_text_copy(out, ALD_SIGNING_SECRET_MAX, ald_span_str(node->text)) != ALD_OK) {
        ald_errors_add(self->errors, node, "The secret in the variable is empty or too long.");
        return false;
    }
    if (!self->resolve)
        explicit_bzero(out, ALD_SIGNING_SECRET_MAX);
    return true;
}

/* Keep a secret as its bytes: `whsec_` and base64 in Standard Webhooks. */
static void auth_keep(const struct auth_load *self, const struct ald_node *node, bool webhooks,
                      struct ald_secret_list *out)
{
    char text[ALD_SIGNING_SECRET_MAX];
    if (!auth_secret(self, node, text) || text[0] == '\0')
        return;
    if (!webhooks) {
        out->at[out->count].len = strlen(text);
        memcpy(out->at[out->count++].data, text, strlen(text));
    } else if (ald_webhook_secret(out, text) != ALD_OK) {
        ald_errors_add(self->errors, node, "The secret must be whsec_ and base64.");
    }
    explicit_bzero(text, sizeof text);
}

/* `secret: S` or `secrets: [S, S]`, under these two keys. */
static void auth_secrets(const struct auth_load *self, const struct ald_node *node, const char *one,
                         const char *many, struct ald_secret_list *out)
{
    bool webhooks = strcmp(node->key, "standard_webhooks") == 0;
    const struct ald_node *single = ald_node_find(node, one);
    const struct ald_node *list = ald_node_find(node, many);
    if ((single == NULL) == (list == NULL)) {
        ald_errors_add(self->errors, node, "%s needs one of %s and %s.", node->key, one, many);
    } else if (single != NULL) {
        auth_keep(self, single, webhooks, out);
    } else if (list->kind != ALD_NODE_LIST || list->count == 0 ||
               list->count > ALD_SECRET_LIST_MAX) {
        ald_errors_add(self->errors, list, "%s must be a list of 1 to %d secrets.", many,
                       ALD_SECRET_LIST_MAX);
    } else {
        for (const struct ald_node *at = list->first; at != NULL; at = at->next)
            auth_keep(self, at, webhooks, out);
    }
}

/* ---- schemes ---- */

/* A name of a header that can be sent. */
static void auth_name(const struct auth_load *self, const struct ald_node *node, const char *key,
                      const char *name, char out[AUTH_NAME_MAX])
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "!#$%&'*+.^_`|~-";
    if (name[0] == '\0')
        ald_errors_add(self->errors, node, "%s needs %s, the name of a header.", node->key, key);
    else if (strspn(name, safe) != strlen(name))
        ald_errors_add(self->errors, node, "%s is no name of a header.", key);
    memcpy(out, name, AUTH_NAME_MAX);
}

static void auth_header_secret(const struct auth_load *self, const struct ald_node *node)
{
    static const char *const others[] = {"value", "values", NULL};
    const struct ald_setting_table table = AUTH_TABLE(AUTH_HEADER_SECRET_ROWS, others);
    struct auth_form form;
    struct ald_secret_list secrets = {0};
    auth_take(self, &table, node, &form);
    auth_name(self, node, "name", form.name, self->out->header_secret.name);
    auth_secrets(self, node, "value", "values", &secrets);
    for (size_t i = 0; i < secrets.count; i++)
        ald_sha256(ald_span_of(secrets.at[i].data, secrets.at[i].len),
                   self->out->header_secret.sha256[i]);
    self->out->header_secret.count = secrets.count;
    explicit_bzero(&secrets, sizeof secrets);
}

static void auth_webhooks(const struct auth_load *self, const struct ald_node *node)
{
    static const char *const others[] = {"secret", "secrets", NULL};
    const struct ald_setting_table table = AUTH_TABLE(AUTH_STANDARD_WEBHOOKS_ROWS, others);
    struct auth_form form;
    auth_take(self, &table, node, &form);
    auth_secrets(self, node, "secret", "secrets", &self->out->webhooks.secrets);
    self->out->webhooks.tolerance_s = form.tolerance_ms / AUTH_SECOND_MS;
}

static void auth_hmac(const struct auth_load *self, const struct ald_node *node)
{
    static const char *const others[] = {"secret", "secrets", NULL};
    const struct ald_setting_table table = AUTH_TABLE(AUTH_HMAC_ROWS, others);
    struct ald_auth *out = self->out;
    struct auth_form form;
    auth_take(self, &table, node, &form);
    auth_name(self, node, "header", form.header, out->hmac.header);
    auth_secrets(self, node, "secret", "secrets", &out->hmac.secrets);
    out->hmac.stamped = strcmp(form.format, "t_v") == 0;
    out->hmac.base64 = strcmp(form.encoding, "base64") == 0;
    out->hmac.tolerance_s = form.tolerance_ms / AUTH_SECOND_MS;
    memcpy(out->hmac.prefix, form.prefix, sizeof out->hmac.prefix);
    memcpy(out->hmac.version, form.version, sizeof out->hmac.version);
    if (out->hmac.stamped && form.prefix[0] != '\0')
        ald_errors_add(self->errors, node, "prefix is of the format body; t_v has version.");
    if (form.version[0] == '\0' || strcmp(form.version, "t") == 0 ||
        strpbrk(form.version, "=, ") != NULL)
        ald_errors_add(self->errors, node, "version is a word such as v0.");
}

/* keys: [BASE64URL, ...], or {file, jwks, cache} */
static void auth_key_list(const struct auth_load *self, const struct ald_node *node)
{
    struct ald_jwks *keys = &self->out->ed25519.keys;
    for (const struct ald_node *at = node->first; at != NULL; at = at->next)
        if (at->kind != ALD_NODE_SCALAR || !ald_jwks_add(keys, ald_span_str(at->text)))
            ald_errors_add(self->errors, at,
                           "A key is 43 characters of base64url, and there are at most %d.",
                           ALD_JWKS_KEYS_MAX);
    if (node->count == 0)
        ald_errors_add(self->errors, node, "keys holds no key.");
    if (!self->resolve)
        *keys = (struct ald_jwks){0};
}

static void auth_key_file(const struct auth_load *self, const struct ald_node *node)
{
    const struct ald_setting_table table = AUTH_TABLE(AUTH_KEYS_ROWS, NULL);
    struct auth_form form;
    auth_take(self, &table, node, &form);
    if (form.key_file[0] == '\0' && form.key_jwks[0] == '\0')
        ald_errors_add(self->errors, node, "keys needs a list of keys, file or jwks.");
    if (form.key_jwks[0] != '\0' && !ald_jwks_address_ok(form.key_jwks))
        ald_errors_add(self->errors, node,
                       "jwks must be an address with https://, and hold no user, space or #.");
    else
        memcpy(self->out->ed25519.jwks, form.key_jwks, sizeof form.key_jwks);
    self->out->ed25519.cache_ms = form.key_cache_ms;
    if (form.key_file[0] == '\0' || !self->resolve)
        return;
    struct ald_buf text;
    ald_buf_init(&text, AUTH_FILE_MAX);
    if (ald_file_read(form.key_file, &text) != ALD_OK)
        ald_errors_add(self->errors, ald_node_find(node, "file"),
                       "The file of the keys, %.200s, can't be read.", form.key_file);
    else if (!ald_jwks_read(&self->out->ed25519.keys, ald_buf_span(&text)))
        ald_errors_add(self->errors, ald_node_find(node, "file"),
                       "%.200s is no JWKS with an Ed25519 key.", form.key_file);
    ald_buf_free(&text);
}

/* A time that is not signed proves nothing. */
static bool auth_time_signed(const struct ald_auth *auth)
{
    for (size_t i = 0; i < auth->ed25519.part_count; i++)
        if (auth->ed25519.parts[i].kind == AUTH_PART_HEADER &&
            strcasecmp(auth->ed25519.parts[i].text, auth->ed25519.timestamp) == 0)
            return true;
    return auth->ed25519.timestamp[0] == '\0';
}

static void auth_ed25519(const struct auth_load *self, const struct ald_node *node)
{
    static const char *const others[] = {"keys", "message", NULL};
    struct ald_setting_table table = AUTH_TABLE(AUTH_ED25519_ROWS, others);
    struct ald_auth *out = self->out;
    struct auth_form form;
    auth_take(self, &table, node, &form);
    auth_name(self, node, "headers.sig", form.signature, out->ed25519.signature);
    if (form.timestamp[0] != '\0')
        auth_name(self, node, "headers.ts", form.timestamp, out->ed25519.timestamp);
    out->ed25519.base64 = strcmp(form.encoding, "base64") == 0;
    out->ed25519.tolerance_s = form.tolerance_ms / AUTH_SECOND_MS;

    const struct ald_node *message = ald_node_find(node, "message");
    const struct ald_node *at = message != NULL ? message : node;
    const char *wrong = auth_parts_compile(message == NULL ? "" : message->text, out->ed25519.parts,
                                           &out->ed25519.part_count);
    if (wrong != NULL)
        ald_errors_add(self->errors, at, "%s", wrong);
    else if (!auth_time_signed(out))
        ald_errors_add(self->errors, at, "message must hold the header of headers.ts: %s.",
                       out->ed25519.timestamp);
    const struct ald_node *keys = ald_node_find(node, "keys");
    if (keys == NULL)
        ald_errors_add(self->errors, node, "ed25519 needs keys.");
    else if (keys->kind == ALD_NODE_LIST)
        auth_key_list(self, keys);
    else
        auth_key_file(self, keys);
}

/* ---- all of them ---- */

static const struct auth_kind {
    const char *name;
    enum auth_scheme scheme;
    const struct ald_setting *rows;
    size_t row_count;
    void (*load)(const struct auth_load *self, const struct ald_node *node);
} AUTH_KINDS[] = {
    {"header_secret", AUTH_HEADER_SECRET, AUTH_HEADER_SECRET_ROWS,
     ALD_COUNT(AUTH_HEADER_SECRET_ROWS), auth_header_secret},
    {"standard_webhooks", AUTH_STANDARD_WEBHOOKS, AUTH_STANDARD_WEBHOOKS_ROWS,
     ALD_COUNT(AUTH_STANDARD_WEBHOOKS_ROWS), auth_webhooks},
    {"hmac", AUTH_HMAC, AUTH_HMAC_ROWS, ALD_COUNT(AUTH_HMAC_ROWS), auth_hmac},
    {"ed25519", AUTH_ED25519, AUTH_ED25519_ROWS, ALD_COUNT(AUTH_ED25519_ROWS), auth_ed25519},
};

void auth_schemes_load(const struct auth_load *self, const struct ald_node *block)
{
    for (size_t i = 0; i < ALD_COUNT(AUTH_KINDS); i++) {
        const struct ald_node *node = ald_node_find(block, AUTH_KINDS[i].name);
        if (node == NULL)
            continue;
        if (node->kind != ALD_NODE_MAP) {
            ald_errors_add(self->errors, node, "%s must hold settings by their names.", node->key);
            continue;
        }
        self->out->schemes |= AUTH_KINDS[i].scheme;
        AUTH_KINDS[i].load(self, node);
    }
}

static void auth_print_secret(const struct ald_node *node, const char *key, unsigned indent,
                              struct ald_buf *out)
{
    const struct ald_node *secret = ald_node_find(node, key);
    if (secret == NULL)
        return;
    ald_buf_printf(out, "%*s%s: ", (int)indent, "", key);
    if (secret->kind != ALD_NODE_LIST) {
        ald_buf_put_str(out, "\"***\"\n");
        return;
    }
    for (size_t i = 0; i < secret->count; i++)
        ald_buf_put_str(out, i == 0 ? "[\"***\"" : ", \"***\"");
    ald_buf_put_str(out, secret->count == 0 ? "[]\n" : "]\n");
}

/* Public keys are shown. */
static void auth_print_keys(const struct auth_load *self, const struct ald_node *keys,
                            unsigned indent, struct ald_buf *out)
{
    const struct ald_setting_table table = AUTH_TABLE(AUTH_KEYS_ROWS, NULL);
    const struct ald_setting text = {"keys", ALD_SETTING_TEXT, FIELD(key_file), "", 0, 0, 0, NULL,
                                     ""};
    struct auth_form form;
    ald_buf_printf(out, "%*skeys:", (int)indent, "");
    if (keys->kind != ALD_NODE_LIST) {
        auth_take(self, &table, keys, &form);
        ald_buf_put_byte(out, '\n');
        ald_setting_print(&table, &form, indent + 2, out);
        return;
    }
    for (const struct ald_node *at = keys->first; at != NULL; at = at->next) {
        ald_buf_put_str(out, at == keys->first ? " [" : ", ");
        ald_setting_write(&text, at->text, out);
    }
    ald_buf_put_str(out, keys->count == 0 ? " []\n" : "]\n");
}

void auth_schemes_print(const struct auth_load *self, const struct ald_node *block, unsigned indent,
                        struct ald_buf *out)
{
    static const char *const secrets[] = {"value", "values", "secret", "secrets"};
    static const char *const others[] = {"value",   "values", "secret", "secrets",
                                         "message", "keys",   NULL};
    for (size_t i = 0; i < ALD_COUNT(AUTH_KINDS); i++) {
        const struct ald_node *node = ald_node_find(block, AUTH_KINDS[i].name);
        if (node == NULL || node->kind != ALD_NODE_MAP)
            continue;
        struct ald_setting_table table = {
            .rows = AUTH_KINDS[i].rows, .count = AUTH_KINDS[i].row_count, .foreign = others};
        struct auth_form form;
        auth_take(self, &table, node, &form);
        const struct ald_node *message = ald_node_find(node, "message");
        if (message != NULL)
            ald_text_cut(form.message, sizeof form.message, ald_span_str(message->text));
        ald_buf_printf(out, "%*s%s:\n", (int)indent, "", node->key);
        table.foreign = NULL;
        ald_setting_print(&table, &form, indent + 2, out);
        for (size_t k = 0; k < ALD_COUNT(secrets); k++)
            auth_print_secret(node, secrets[k], indent + 2, out);
        if (ald_node_find(node, "keys") != NULL)
            auth_print_keys(self, ald_node_find(node, "keys"), indent + 2, out);
    }
}

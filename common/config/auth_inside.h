/* auth_inside.h - a compiled `callback.auth`. For the files of auth.h; any thread. */
#ifndef ALD_CONFIG_AUTH_INSIDE_H
#define ALD_CONFIG_AUTH_INSIDE_H

#include "common/config/auth.h"
#include "common/config/webhook.h"

enum { AUTH_ADDRESS_MAX = 512, AUTH_NAME_MAX = 65, AUTH_TEMPLATE_MAX = 513, AUTH_PARTS_MAX = 32 };

enum auth_scheme {
    AUTH_HEADER_SECRET = 1, /* bits */
    AUTH_STANDARD_WEBHOOKS = 2,
    AUTH_HMAC = 4,
    AUTH_ED25519 = 8
};

enum auth_part_kind { AUTH_PART_TEXT, AUTH_PART_HEADER, AUTH_PART_BODY, AUTH_PART_BODY_SHA256 };

/* A piece of the signed message: text is literal, or a header's name. */
struct auth_part {
    enum auth_part_kind kind;
    char text[AUTH_NAME_MAX];
};

struct ald_auth {
    unsigned schemes;
    bool url_token;
    enum ald_on_fail on_fail;
    unsigned rejected;
    char rejected_text[AUTH_NAME_MAX];

    struct {
        char name[AUTH_NAME_MAX];
        size_t count;
        uint8_t sha256[ALD_SECRET_LIST_MAX]
                      [32]; /* compared in place of the secrets: all one length */
    } header_secret;
    struct {
        struct ald_secret_list secrets;
        int64_t tolerance_s;
    } webhooks;
    struct {
        char header[AUTH_NAME_MAX];
        char prefix[AUTH_NAME_MAX];
        char version[17];
        bool stamped; /* `t=,v0=` */
        bool base64;
        struct ald_secret_list secrets;
        int64_t tolerance_s;
    } hmac;
    struct {
        char signature[AUTH_NAME_MAX]; /* headers */
        char timestamp[AUTH_NAME_MAX]; /* "" = none */
        bool base64;
        size_t part_count;
        struct auth_part parts[AUTH_PARTS_MAX];
        struct ald_jwks keys;        /* that the profile gives itself */
        char jwks[AUTH_ADDRESS_MAX]; /* where others are fetched; "" = nowhere */
        int64_t cache_ms;
        int64_t tolerance_s;
    } ed25519;
};

/* One load. */
struct auth_load {
    const struct ald_node *profile;
    bool resolve;
    struct ald_errors *errors;
    struct ald_auth *out;
};

/* ---- auth_schemes.c ---- */

/* Read the schemes of a `callback.auth`, which may be NULL, into out. */
void auth_schemes_load(const struct auth_load *self, const struct ald_node *block);
/* Write them as YAML, each key behind so many spaces. */
void auth_schemes_print(const struct auth_load *self, const struct ald_node *block, unsigned indent,
                        struct ald_buf *out);

/* ---- auth_parts.c ---- */

/* Compile `${header.x-name}\n${sha256hex.body}` into parts. NULL, or a sentence that says what is
 * wrong. */
const char *auth_parts_compile(const char *text, struct auth_part *parts, size_t *count);

#endif

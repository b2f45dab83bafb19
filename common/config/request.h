/* request.h - requests to a provider as a profile writes them: url, headers and parameters with
 * ${...} in them, compiled once and filled in for each task.
 *
 * What is filled in can't get out of its place: it is percent-encoded in addresses and forms,
 * escaped in JSON, and refused in headers when it holds a control character. Nothing is sent from
 * here. Threads: a compiled request may be read by any thread.
 */
#ifndef ALD_CONFIG_REQUEST_H
#define ALD_CONFIG_REQUEST_H

#include "common/config/load.h"
#include "common/config/profile_request.h"

enum {
    ALD_SECRETS_MAX = 16,
    ALD_SECRET_MAX = 1024,
    ALD_HEADERS_MAX = 16,
    ALD_PARAMS_MAX = 64,
    ALD_PARAM_DEPTH_MAX = 6
};

/* A secret of the profile; value is "" while it is not resolved. */
struct ald_secret {
    const char *name;
    const char *value;
};

struct ald_secret_set {
    unsigned count;
    struct ald_secret list[ALD_SECRETS_MAX];
};

enum ald_piece_kind {
    ALD_PIECE_LITERAL,
    ALD_PIECE_SECRET,
    ALD_PIECE_ID,
    ALD_PIECE_ID_NUMBER, /* in JSON a number, where the id is one */
    ALD_PIECE_PARAM,
    ALD_PIECE_CALLBACK_URL,
    ALD_PIECE_POLL_URL,
    ALD_PIECE_RESULT_URL
};

struct ald_piece {
    enum ald_piece_kind kind;
    const char *text; /* the literal, the secret's value, the parameter's name */
};

struct ald_template {
    unsigned count;
    struct ald_piece *pieces;
};

enum ald_encode {
    ALD_ENCODE_QUERY,
    ALD_ENCODE_FORM,
    ALD_ENCODE_JSON,
    ALD_ENCODE_MULTIPART,
    ALD_ENCODE_RAW /* the caller's bytes; parameters go to the query */
};

enum ald_param_kind { ALD_PARAM_TEXT, ALD_PARAM_LITERAL, ALD_PARAM_LIST, ALD_PARAM_MAP };

/* A parameter; LITERAL is true, false or a number as it is written. */
struct ald_param {
    enum ald_param_kind kind;
    const char *key; /* of a member of a map */
    struct ald_template text;
    struct ald_param *first, *next;
};

struct ald_header_form {
    const char *name;
    struct ald_template value;
};

struct ald_request_form {
    bool there;
    const char *method;
    enum ald_encode encode;
    struct ald_template url;
    unsigned header_count;
    struct ald_header_form headers[ALD_HEADERS_MAX];
    struct ald_param *params; /* a chain */
};

/* Compile a text with ${...}. secrets are those the profile declares; an unknown name was said. */
void ald_template_load(struct ald_load *load, const struct ald_node *node,
                       const struct ald_secret_set *secrets, struct ald_template *out);

/* Write a template of literals and secrets alone. ALD_MISSING: a secret is not resolved, or another
 * name stands in it. */
ALD_NODISCARD enum ald_rc ald_template_plain(const struct ald_template *self, struct ald_buf *out);

/* Compile `request` and `params` of a stage. What is wrong was said. */
void ald_request_load(struct ald_load *load, const struct ald_node *stage,
                      const struct ald_secret_set *secrets, struct ald_request_form *out);

/* Fill it in. Contract of ald_profile_request. */
ALD_NODISCARD enum ald_rc ald_request_fill(const struct ald_request_form *form,
                                           const struct ald_request_in *in,
                                           struct ald_request *out);

/* Is it an address of http or https with a host, and without spaces, controls or a fragment? */
bool ald_url_ok(const char *url);

/* Do both addresses have the same scheme, host and port? */
bool ald_url_same_host(const char *one, const char *other);

#endif

/* fields.h - the words that the tables of messages.c and messages_api.c are written in.
 *
 * Each names a member once: key, place and size follow from it, and a member of another type than
 * the word says does not compile. Only the tables use this.
 */
#ifndef ALD_PROTO_FIELDS_H
#define ALD_PROTO_FIELDS_H

#include <stddef.h>

#include "common/base/guard.h"
#include "proto/messages.h"

enum { OPTIONAL = 0, REQUIRED = 1 };

/* Most bytes of spans. An original is an encoded callback: a body, its headers and query. */
enum {
    FIELD_KEYS_MAX = 132, /* four key records, token.h */
    FIELD_JWKS_MAX = 512, /* sixteen public keys */
    FIELD_EVIDENCE_MAX = 4096,
    FIELD_HEADERS_MAX = 64 * 1024,
    FIELD_BLOB_MAX = 1024 * 1024,
    FIELD_SUBMISSION_MAX = ALD_SUBMISSION_MAX,
    FIELD_PUSHED_MAX = ALD_PUSHED_MAX,
    FIELD_BODY_MAX = 64 * 1024 * 1024,
    FIELD_ORIGINAL_MAX = 65 * 1024 * 1024
};

/* A member of another type than ctype does not compile here. */
#define FIELD(tag, word, member, ctype, fkind, fsize, need)                                        \
    {                                                                                              \
        .key = (word), .kind = (fkind), .offset = offsetof(struct tag, member),                    \
        .size = _Generic(((struct tag *)0)->member, ctype                                          \
                         : (fsize)),                                                               \
        .required = (need), .key_len = sizeof(word) - 1                                            \
    }

#define TEXT_AS(tag, word, member, need)                                                           \
    FIELD(tag, word, member, char *, ALD_FIELD_TEXT, sizeof(((struct tag *)0)->member), need)
#define TEXT(tag, member, need) TEXT_AS(tag, #member, member, need)
#define U64(tag, member, need) FIELD(tag, #member, member, uint64_t, ALD_FIELD_U64, 0, need)
#define I64(tag, member, need) FIELD(tag, #member, member, int64_t, ALD_FIELD_I64, 0, need)
#define BOOL(tag, member, need) FIELD(tag, #member, member, bool, ALD_FIELD_BOOL, 0, need)
#define ID(tag, member, need) FIELD(tag, #member, member, uint64_t, ALD_FIELD_ID, 0, need)
#define SPAN(tag, member, max, need)                                                               \
    FIELD(tag, #member, member, struct ald_span, ALD_FIELD_SPAN, max, need)

#define SCHEMA(word, number, tag, table)                                                           \
    {                                                                                              \
        .kind = (word), .version = (number), .size = sizeof(struct tag), .fields = (table),        \
        .count = ALD_COUNT(table)                                                                  \
    }

#endif

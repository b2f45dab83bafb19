/* json_out.h - JSON written piece by piece into a buffer, with raw values as they came.
 *
 * The caller opens and closes in pairs; commas, quotes and escapes are made here. Text that is not
 * UTF-8 is written with replacement characters: who must keep the bytes writes them as base64.
 * Numbers that can pass 2^53 are written as texts by whoever knows that they are ids. Pure.
 */
#ifndef ALD_BASE_JSON_OUT_H
#define ALD_BASE_JSON_OUT_H

#include "common/base/buf.h"

enum { JSON_DEPTH_MAX = 16 };

struct ald_json_out {
    struct ald_buf *buf;
    unsigned depth;
    bool begun[JSON_DEPTH_MAX]; /* something stands before at this depth */
};

struct ald_json_out ald_json_out_begin(struct ald_buf *buf);

/* key NULL: an element of an array, or the whole document. */
void ald_json_out_object(struct ald_json_out *out, const char *key);
void ald_json_out_array(struct ald_json_out *out, const char *key);
void ald_json_out_close_object(struct ald_json_out *out);
void ald_json_out_close_array(struct ald_json_out *out);

void ald_json_out_text(struct ald_json_out *out, const char *key, const char *value);
void ald_json_out_span(struct ald_json_out *out, const char *key, struct ald_span value);
/* Bytes that a text of UTF-8 has between its quotes. */
size_t ald_json_text_len(struct ald_span text);
void ald_json_out_base64(struct ald_json_out *out, const char *key, struct ald_span value);
void ald_json_out_int(struct ald_json_out *out, const char *key, int64_t value);
/* null when it is 0: a time that is not set. */
void ald_json_out_time(struct ald_json_out *out, const char *key, int64_t ms);
/* An id as text; "" for 0. */
void ald_json_out_id(struct ald_json_out *out, const char *key, uint64_t id);
void ald_json_out_bool(struct ald_json_out *out, const char *key, bool value);
void ald_json_out_null(struct ald_json_out *out, const char *key);
/* A value that is JSON already. */
void ald_json_out_raw(struct ald_json_out *out, const char *key, struct ald_span value);

#endif

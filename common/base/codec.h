/* codec.h - hex, base64 and percent encoding. Strict: what is not well-formed is refused.
 * Pure; any thread. */
#ifndef ALD_BASE_CODEC_H
#define ALD_BASE_CODEC_H

#include "common/base/buf.h"
#include "common/base/rc.h"

/* All decoders append to out. ALD_MALFORMED: not such a text, in one piece and to the last bit;
 * ALD_TOOBIG: out is full. out then holds the bytes before that. */

/* Lower-case digits; both cases are read. */
void ald_hex_encode(struct ald_buf *out, struct ald_span bytes);
ALD_NODISCARD enum ald_rc ald_hex_decode(struct ald_buf *out, struct ald_span text);

/* RFC 4648: base64 with padding; base64url without. */
void ald_base64_encode(struct ald_buf *out, struct ald_span bytes);
ALD_NODISCARD enum ald_rc ald_base64_decode(struct ald_buf *out, struct ald_span text);
void ald_base64url_encode(struct ald_buf *out, struct ald_span bytes);
ALD_NODISCARD enum ald_rc ald_base64url_decode(struct ald_buf *out, struct ald_span text);

/* Decode %HH once. ALD_MALFORMED: a bad escape, a NUL, or %00, which would end a C string early and
 * name another thing. ALD_TOOBIG: out is full. */
ALD_NODISCARD enum ald_rc ald_percent_decode(struct ald_span text, bool plus_is_space,
                                             struct ald_buf *out);
/* Encode all but unreserved characters (RFC 3986). */
void ald_percent_encode(struct ald_buf *out, struct ald_span bytes);

#endif

/* text.h - texts to values and back, strictly: what does not fit is said, never cut in silence.
 * Pure; any thread.
 */
#ifndef ALD_BASE_TEXT_H
#define ALD_BASE_TEXT_H

#include "common/base/buf.h"
#include "common/base/rc.h"

/* Copy with a NUL. ALD_TOOBIG: does not fit; ALD_MALFORMED: holds a NUL. dst is then "". */
ALD_NODISCARD enum ald_rc ald_text_copy(char *dst, size_t cap, struct ald_span text);
/* Copy what fits, cut between characters and at a NUL. For people, never for ids. */
void ald_text_cut(char *dst, size_t cap, struct ald_span text);

/* Decimal, digits only (a '-' for i64), no overflow. ALD_MALFORMED, ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc ald_text_u64(struct ald_span text, uint64_t *out);
ALD_NODISCARD enum ald_rc ald_text_i64(struct ald_span text, int64_t *out);
/* "250ms" "30s" "5m" "24h" "30d" or "0", to ms. */
ALD_NODISCARD enum ald_rc ald_text_duration_ms(struct ald_span text, int64_t *out);
/* "512B" "256KiB" "4MiB" "10GiB" or "0". */
ALD_NODISCARD enum ald_rc ald_text_bytes(struct ald_span text, uint64_t *out);

bool ald_text_utf8_ok(struct ald_span text);

/* Append text so that it stays on one line and moves no terminal: control bytes, '"', '\' and bytes
 * that are not UTF-8 as \xHH, \n and so on. */
void ald_text_escape(struct ald_buf *out, struct ald_span text);

/* The word of the list that was probably meant; NULL when none is near. */
const char *ald_text_nearest(const char *word, const char *const *list, size_t count);

#endif

/* text.h - texts to values and back, strictly: what does not fit is said, never cut in silence.
 * Pure; any thread.
 */
#ifndef ALD_BASE_TEXT_H
#define ALD_BASE_TEXT_H

#include "common/base/buf.h"
#include "common/base/rc.h"

/* Copy with a NUL. ALD_TOOBIG: does not fit; ALD_MALFORMED: holds a NUL. dst is then "". */
ALD_NODISCARD enum ald_rc ald_text_copy(char *dst, size_t cap, struct ald_span text);
/* The texts one behind the other, with a NUL. ALD_TOOBIG: they do not fit; dst is then "". */
ALD_NODISCARD enum ald_rc ald_text_join(char *dst, size_t cap, const char *const *parts,
                                        size_t count);
/* Copy what fits, cut between characters and at a NUL. For people, never for ids. */
void ald_text_cut(char *dst, size_t cap, struct ald_span text);

/* Decimal digits (one '-' before them for i64) and nothing else. ALD_MALFORMED: something else;
 * ALD_TOOBIG: does not fit the type. *out then stays. */
ALD_NODISCARD enum ald_rc ald_text_u64(struct ald_span text, uint64_t *out);
ALD_NODISCARD enum ald_rc ald_text_i64(struct ald_span text, int64_t *out);
/* "250ms" "30s" "5m" "24h" "30d" or "0", to ms. ALD_MISSING: no unit; ALD_MALFORMED: anything else
 * that is not such a text; ALD_TOOBIG: more than INT64_MAX ms. *out then stays. */
ALD_NODISCARD enum ald_rc ald_text_duration_ms(struct ald_span text, int64_t *out);
/* "512B" "256KiB" "4MiB" "10GiB" or "0", to bytes; refused likewise, also above INT64_MAX. */
ALD_NODISCARD enum ald_rc ald_text_bytes(struct ald_span text, uint64_t *out);

/* UTF-8 as in RFC 3629: shortest forms, no surrogates, up to U+10FFFF. A NUL is a character. */
bool ald_text_utf8_ok(struct ald_span text);

/* Append text so that it stays on one line, closes no quotes and moves no terminal: '"' and '\' get
 * a backslash; a line feed is \n; control characters, separators of lines and paragraphs, marks
 * that turn the direction and bytes that are not UTF-8 are \xHH, byte by byte. */
void ald_text_escape(struct ald_buf *out, struct ald_span text);
/* The same for people, who see no quotes around it: '"' and '\' stay as they are. */
void ald_text_show(struct ald_buf *out, struct ald_span text);

/* The word of the list that was probably meant: the fewest letters changed, added or dropped, and
 * at most a third of word's, rounded up. NULL when none is near. Borrowed from the list, where
 * entries may be NULL. */
const char *ald_text_nearest(const char *word, const char *const *list, size_t count);

#endif

/* edit.h - another message in the place of a letter's: what a person may change of a callback.
 *
 * Query, body, content type and headers; never who it is from, what the door proved, which task its
 * address was of, or when it came. The message that came stays as revision 1, to the byte.
 * Pure; any thread.
 */
#ifndef ALD_DLQ_EDIT_H
#define ALD_DLQ_EDIT_H

#include "common/base/buf.h"
#include "common/base/rc.h"
#include "proto/messages.h"

/* Append to out the encoded callback `original` with what `edit` sets. That the door could not read
 * it is not said of the new one.
 * ALD_INVALID: it is no callback, or a value is not allowed; err has the sentence. ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc edit_apply(struct ald_span original, const struct msg_letter_edit *edit,
                                     struct ald_buf *out, struct ald_err *err);

#endif

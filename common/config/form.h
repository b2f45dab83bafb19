/* form.h - one field of a query string or an urlencoded body.
 *
 * Works on the raw bytes and decodes once. Separators are '&' alone. It keeps no table: a look-up
 * walks the bytes. Charsets are not converted: what was %C4 is byte 0xC4. Pure; any thread.
 */
#ifndef ALD_CONFIG_FORM_H
#define ALD_CONFIG_FORM_H

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

/* What a '+' in a value means. */
enum ald_plus {
    ALD_PLUS_SPACE = 's',   /* a space, as browsers send it */
    ALD_PLUS_LITERAL = 'l', /* a plus: the sender does not encode */
    ALD_PLUS_AUTO = 'a'     /* a plus where the value can't hold spaces: all of it is base64, or
                               its spaces are written %20 */
};

/* Find the first field of this name; its raw value is borrowed from form. Names are decoded before
 * they are compared. ALD_NOTFOUND: there is none. */
ALD_NODISCARD enum ald_rc ald_form_find(struct ald_span form, const char *name,
                                        struct ald_span *raw);

/* Append the value, decoded once. ALD_MALFORMED: a bad escape or %00. */
ALD_NODISCARD enum ald_rc ald_form_decode(struct ald_span raw, enum ald_plus plus,
                                          struct ald_buf *out);

#endif

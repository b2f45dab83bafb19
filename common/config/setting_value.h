/* setting_value.h - one value of a setting, from text and to text. For setting.c; any thread. */
#ifndef ALD_CONFIG_SETTING_VALUE_H
#define ALD_CONFIG_SETTING_VALUE_H

#include "common/base/rc.h"
#include "common/config/setting.h"

/* Parse text into the field. Not for SECRET and LIST. False: err says what is wrong, as a sentence
 * that begins with the key; the field is unchanged. */
ALD_NODISCARD bool ald_setting_parse(const struct ald_setting *row, const char *text, void *field,
                                     struct ald_err *err);

/* Write the field as YAML on one line; what is MASKED as `***`. */
void ald_setting_write(const struct ald_setting *row, const void *field, struct ald_buf *out);

/* Read an environment variable or a file into out[cap]. False: err says why, out is "". */
ALD_NODISCARD bool ald_secret_from_env(const char *variable, char *out, size_t cap,
                                       struct ald_err *err);
ALD_NODISCARD bool ald_secret_from_file(const char *path, char *out, size_t cap,
                                        struct ald_err *err);

#endif

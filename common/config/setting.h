/* setting.h - settings as a table: a struct, and one row for each of its fields.
 *
 * A row's default is text and goes through the same parser as what a person writes. Values come,
 * the later over the earlier, from: defaults, a YAML file, the environment (ALDABA__SECTION__KEY),
 * and flags (key=value). Unknown keys, missing units and values out of range are errors with their
 * place and the nearest known name. A secret is never written down: it is {env: VAR} or {file:
 * PATH} in YAML, env:VAR or file:PATH elsewhere.
 *
 * It knows no setting by name; the list is settings.h.
 * Threads: none of its own; a filled struct may be read by any thread.
 */
#ifndef ALD_CONFIG_SETTING_H
#define ALD_CONFIG_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/config/yaml.h"

enum { ALD_TEXTS_MAX = 16, ALD_LISTED_MAX = 256 };

/* A list of texts. */
struct ald_texts {
    size_t count;
    char item[ALD_TEXTS_MAX][ALD_LISTED_MAX];
};

enum ald_setting_kind {
    ALD_SETTING_TEXT,     /* char[size] */
    ALD_SETTING_PATH,     /* char[size], absolute or relative to the working directory */
    ALD_SETTING_ADDRESS,  /* char[size]: `127.0.0.1:7780` */
    ALD_SETTING_SECRET,   /* char[size], the resolved value */
    ALD_SETTING_WORD,     /* char[size], one of words */
    ALD_SETTING_INT,      /* int64_t */
    ALD_SETTING_PERCENT,  /* int64_t, `20` or `20%` */
    ALD_SETTING_BOOL,     /* bool: true or false */
    ALD_SETTING_DURATION, /* int64_t, ms: `250ms`, `30s`, `5m`, `24h`, `30d` */
    ALD_SETTING_BYTES,    /* uint64_t: `512B`, `256KiB`, `4MiB`, `10GiB` */
    ALD_SETTING_LIST      /* struct ald_texts; with ALD_SETTING_MASKED a list of secrets */
};

enum {
    ALD_SETTING_RELOAD = 1, /* SIGHUP takes a new value over */
    ALD_SETTING_MASKED = 2, /* never printed; implied by SECRET */
    ALD_SETTING_AUTO = 8,   /* a DURATION that may be `auto`, which is ALD_SETTING_AUTO_MS */
    ALD_SETTING_BLOCKS = 4  /* a list of addresses and blocks of them: `10.0.0.0/8` */
};

#define ALD_SETTING_AUTO_MS INT64_C(-1)

struct ald_setting {
    const char *key; /* dotted: gateway.public */
    enum ald_setting_kind kind;
    size_t offset; /* in the struct */
    size_t size;
    const char *text; /* default */
    int64_t min, max; /* both 0: no range; in ms, bytes, percent */
    unsigned flags;
    const char *words; /* for WORD, separated by spaces */
    const char *help;  /* one sentence */
};

struct ald_setting_table {
    const struct ald_setting *rows;
    size_t count;
    const char *const *foreign; /* keys that somebody else reads, with all below them; NULL-ended.
                                 * `group.*`: all of a group that has no row */
    bool unresolved;            /* look at the form of secrets only; they stay empty */
};

/* Fill every field with its default. A default that does not parse is a bug. */
void ald_setting_defaults(const struct ald_setting_table *table, void *out);

/* Take the values of a tree, a map of maps as deep as the keys have dots. What is wrong is appended
 * to errors; what is right is taken all the same. */
void ald_setting_take_tree(const struct ald_setting_table *table, const struct ald_node *root,
                           struct ald_errors *errors, void *out);

/* Take the ALDABA__* entries of an environment (NULL-ended, as environ). */
void ald_setting_take_environment(const struct ald_setting_table *table,
                                  const char *const *environment, struct ald_errors *errors,
                                  void *out);

/* Take one `key=value` given on the command line. */
void ald_setting_take_flag(const struct ald_setting_table *table, const char *flag,
                           struct ald_errors *errors, void *out);

/* Write all values as YAML, secrets masked, each line behind so many spaces. */
void ald_setting_print(const struct ald_setting_table *table, const void *in, unsigned indent,
                       struct ald_buf *out);

/* Resolve {env: VAR} or {file: PATH} into out[cap]; a trailing newline of a file is dropped. With
 * resolve false only the form is checked and out is "". False: errors say why, out is "". */
ALD_NODISCARD bool ald_setting_secret(const struct ald_node *node, bool resolve,
                                      struct ald_errors *errors, char *out, size_t cap);

#endif

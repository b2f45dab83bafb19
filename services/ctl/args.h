/* args.h - the command line of aldaba: a command of one or two words, its own words, and options
 * that stand before or after it.
 *
 * All options are one list; a command says which of them it takes besides the common ones. It runs
 * nothing and reads no settings. Threads: none of its own.
 */
#ifndef ALD_CTL_ARGS_H
#define ALD_CTL_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

enum arg {
    ARG_URL,
    ARG_CONFIG,
    ARG_JSON,
    ARG_NO_COLOR,
    ARG_QUIET,
    ARG_HELP,
    ARG_VERSION,
    ARG_COMMON_COUNT, /* those above go with every command */
    ARG_KEY = ARG_COMMON_COUNT,
    ARG_META,
    ARG_WAIT,
    ARG_STATE,
    ARG_PROVIDER,
    ARG_REASON,
    ARG_TASK,
    ARG_FIND,
    ARG_LIMIT,
    ARG_FROM,
    ARG_AFTER, /* as the API calls it */
    ARG_COUNT,
    ARG_DEEP,
    ARG_BELIEVE,
    ARG_BUY,
    ARG_PUBLISH,
    ARG_YES,
    ARG_PATIENCE,
    ARG_CONSUMER,
    ARG_ACK,
    ARG_VERIFY,
    ARG_DRY_RUN,
    ARG_EVERY,
    ARG_GROUP,
    ARG_SINCE,
    ARG_UNTIL,
    ARG_REVISION,
    ARG_RATE,
    ARG_BY,
    ARG_QUERY,
    ARG_BODY,
    ARG_TYPE,
    ARG_HEADERS,
    ARG_WITHIN,
    ARG_TEXTFILE,
    ARGS_COUNT
};

#define ARG_BIT(arg) (UINT64_C(1) << (arg))

enum { ARGS_WORDS_MAX = 64 };

struct ctl;
struct args;

/* A row of the table of commands. */
struct command {
    const char *name; /* one or two words */
    const char *args; /* as the help shows them */
    const char *summary;
    uint64_t options;   /* ARG_BITs it takes besides the common ones */
    size_t least, most; /* words after the name */
    int (*run)(struct ctl *ctl, const struct args *args);
};

struct args {
    const struct command *command; /* NULL: none was named */
    const char *text[ARGS_COUNT];  /* value of an option, "" for a flag, NULL: not given */
    uint64_t number[ARGS_COUNT];   /* the same of options that are numbers */
    const char *word[ARGS_WORDS_MAX];
    size_t words;
};

static inline bool args_has(const struct args *args, enum arg arg)
{
    return args->text[arg] != NULL;
}

/* Read argv against a table of commands. Values are borrowed from argv.
 * ALD_OK: out is filled; help and version are for the caller to act on, and then nothing else has
 * been checked. ALD_INVALID: err says what is wrong and what to do. */
ALD_NODISCARD enum ald_rc args_parse(int argc, char **argv, const struct command *commands,
                                     size_t count, struct args *out, struct ald_err *err);

/* An option, for whoever writes about it. */
struct args_option {
    const char *name;
    int letter;        /* 0: none */
    const char *value; /* what its value is called; NULL: a flag */
    bool number;
    const char *help;
};
const struct args_option *args_option_of(enum arg arg);

/* How many commands have two words of which the first is this one. */
size_t args_group(const struct command *commands, size_t count, const char *word);
/* The command of this name, or NULL. */
const struct command *args_command(const struct command *commands, size_t count, const char *name);
/* Say that there is no such command, and which one may be meant; ALD_INVALID. second may be NULL.
 */
enum ald_rc args_no_command(const struct command *commands, size_t count, const char *first,
                            const char *second, struct ald_err *err);

#endif

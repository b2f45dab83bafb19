/* rule.h - ordered rules over a message: the first one whose conditions all hold says what the
 * message means and where its values stand.
 *
 * Compiled once from YAML into plain structs, then only evaluated. Patterns are POSIX extended
 * regular expressions without back references; they see the first 4 KiB of a value. What a code
 * means is codes.h; that nothing matched is for whoever asked. Pure; compiled rules may be read by
 * any thread.
 */
#ifndef ALD_CONFIG_RULE_H
#define ALD_CONFIG_RULE_H

#include <regex.h>

#include "common/config/value.h"

enum {
    ALD_RULES_MAX = 64,
    ALD_CONDS_MAX = 8,
    ALD_WANTS_MAX = 32,
    ALD_REGEX_MAX = 256,          /* bytes of a pattern */
    ALD_REGEX_REPEATS_MAX = 1024, /* what its {m,n} multiply to */
    ALD_REGEX_SEES_MAX = 4096     /* bytes of a value */
};

enum ald_test {
    ALD_TEST_EQUAL,  /* to one of the words */
    ALD_TEST_EQUALI, /* the same in any case of letters */
    ALD_TEST_REGEX,
    ALD_TEST_STATUS, /* in one of the ranges */
    ALD_TEST_PRESENT,
    ALD_TEST_ABSENT,
    ALD_TEST_NONEMPTY,
    ALD_TEST_SCALAR, /* string or number */
    ALD_TEST_STRING,
    ALD_TEST_NUMBER,
    ALD_TEST_BOOLEAN,
    ALD_TEST_OBJECT,
    ALD_TEST_ARRAY
};

/* Statuses from least to most. */
struct ald_statuses {
    unsigned least, most;
};

struct ald_cond {
    struct ald_place place;
    enum ald_test test;
    unsigned count; /* of words or ranges */
    const char **words;
    struct ald_statuses *statuses;
    const regex_t *regex;
};

struct ald_rule {
    unsigned cond_count;
    struct ald_cond *conds;
    enum ald_then then;
    enum ald_class cls; /* for a code, instead of its row's; NONE = the row's */
    bool same_host_only;
    struct ald_value id, result, code, cost, detail, poll_url, result_url;
};

struct ald_rules {
    unsigned count;
    struct ald_rule *list;
};

/* Compile a list of rules. What is wrong was said. */
void ald_rules_load(struct ald_load *load, const struct ald_node *list, struct ald_rules *out);

/* Compile a list of conditions, any of which says that a submission was not taken: each a rule of
 * its own. What is wrong was said. */
void ald_refusals_load(struct ald_load *load, const struct ald_node *list, struct ald_rules *out);

/* Compile a pattern. NULL: said why. Lives as long as the arena. */
const regex_t *ald_regex_load(struct ald_load *load, const struct ald_node *node);

/* Does it match the first bytes of text? */
bool ald_regex_matches(const regex_t *regex, struct ald_span text);

/* The first rule that holds; NULL: none. room is for texts that have to be decoded. */
const struct ald_rule *ald_rules_match(const struct ald_rules *self, struct ald_said *said,
                                       struct ald_buf *room);

#endif

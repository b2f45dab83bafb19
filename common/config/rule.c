#include "common/config/rule.h"

#include <string.h>
#include <strings.h>

static bool rule_status(const struct ald_cond *cond, unsigned status)
{
    for (unsigned i = 0; i < cond->count; i++)
        if (status >= cond->statuses[i].least && status <= cond->statuses[i].most)
            return true;
    return false;
}

bool ald_regex_matches(const regex_t *regex, struct ald_span text)
{
    char copy[ALD_REGEX_SEES_MAX + 1];
    size_t len = text.len < ALD_REGEX_SEES_MAX ? text.len : ALD_REGEX_SEES_MAX;
    if (len > 0)
        memcpy(copy, text.data, len);
    copy[len] = '\0';
    return regexec(regex, copy, 0, NULL, 0) == 0;
}

static bool rule_word(const struct ald_cond *cond, struct ald_span text)
{
    for (unsigned i = 0; i < cond->count; i++) {
        size_t len = strlen(cond->words[i]);
        if (len != text.len)
            continue;
        if (len == 0 || (cond->test == ALD_TEST_EQUALI
                             ? strncasecmp((const char *)text.data, cond->words[i], len) == 0
                             : memcmp(text.data, cond->words[i], len) == 0))
            return true;
    }
    return false;
}

/* Without decoding where it can be compared as it stands. */
static bool rule_equal(const struct ald_cond *cond, struct ald_said *said,
                       const struct ald_found *found, struct ald_buf *room)
{
    bool escaped = found->json.kind == ALD_JSON_STRING &&
                   memchr(found->json.raw.data, '\\', found->json.raw.len) != NULL;
    if (found->json.kind != ALD_JSON_NONE && cond->test == ALD_TEST_EQUAL && !escaped) {
        bool literal = found->json.kind == ALD_JSON_TRUE || found->json.kind == ALD_JSON_FALSE;
        for (unsigned i = 0; i < cond->count; i++)
            if (literal ? ald_span_eq_str(found->json.raw, cond->words[i])
                        : ald_json_is(found->json, cond->words[i]))
                return true;
        return false;
    }
    ald_buf_reset(room);
    return ald_found_text(said, found, room) && rule_word(cond, ald_buf_span(room));
}

static bool rule_regex(const struct ald_cond *cond, struct ald_said *said,
                       const struct ald_found *found, struct ald_buf *room)
{
    if (found->json.kind == ALD_JSON_NONE && !found->encoded)
        return found->there && ald_regex_matches(cond->regex, found->raw);
    ald_buf_reset(room);
    return ald_found_text(said, found, room) && ald_regex_matches(cond->regex, ald_buf_span(room));
}

static bool rule_kind(enum ald_test test, const struct ald_found *found)
{
    enum ald_json_kind kind = found->json.kind;
    switch (test) {
    case ALD_TEST_PRESENT:
        return found->there;
    case ALD_TEST_ABSENT:
        return !found->there;
    case ALD_TEST_NONEMPTY:
        return found->there && !ald_found_empty(found);
    case ALD_TEST_SCALAR:
        return found->there &&
               (kind == ALD_JSON_NONE || kind == ALD_JSON_STRING || kind == ALD_JSON_NUMBER);
    case ALD_TEST_STRING:
        return found->there && (kind == ALD_JSON_NONE || kind == ALD_JSON_STRING);
    case ALD_TEST_NUMBER:
        return kind == ALD_JSON_NUMBER;
    case ALD_TEST_BOOLEAN:
        return kind == ALD_JSON_TRUE || kind == ALD_JSON_FALSE;
    case ALD_TEST_OBJECT:
        return kind == ALD_JSON_OBJECT;
    case ALD_TEST_ARRAY:
        return kind == ALD_JSON_ARRAY;
    case ALD_TEST_EQUAL:
    case ALD_TEST_EQUALI:
    case ALD_TEST_REGEX:
    case ALD_TEST_STATUS:
        return false;
    }
    return false;
}

static bool rule_holds(const struct ald_cond *cond, struct ald_said *said, struct ald_buf *room)
{
    if (cond->test == ALD_TEST_STATUS)
        return rule_status(cond, ald_facts_status(said->facts));
    struct ald_found found = ald_place_find(said, &cond->place);
    if (cond->place.kind == ALD_PLACE_AFTER)
        return found.there;
    if (cond->test == ALD_TEST_REGEX)
        return rule_regex(cond, said, &found, room);
    if (cond->test == ALD_TEST_EQUAL || cond->test == ALD_TEST_EQUALI)
        return rule_equal(cond, said, &found, room);
    return rule_kind(cond->test, &found);
}

const struct ald_rule *ald_rules_match(const struct ald_rules *self, struct ald_said *said,
                                       struct ald_buf *room)
{
    for (unsigned i = 0; i < self->count; i++) {
        const struct ald_rule *rule = &self->list[i];
        unsigned held = 0;
        while (held < rule->cond_count && rule_holds(&rule->conds[held], said, room))
            held++;
        if (held == rule->cond_count)
            return rule;
    }
    return NULL;
}

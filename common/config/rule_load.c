/* The compiling of rules; their evaluation is rule.c. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/rule.h"

static void rule_regex_free(void *regex)
{
    regfree(regex);
}

/* Back references take exponential time, and repeats of repeats exponential memory. */
static const char *rule_regex_fault(const char *pattern)
{
    unsigned long product = 1;
    if (strlen(pattern) > ALD_REGEX_MAX)
        return "it is longer than 256 bytes";
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
            return "back references are not allowed";
        if (*at == '\\' && at[1] != '\0') {
            at++;
            continue;
        }
        if (*at != '{')
            continue;
        unsigned long most = 1;
        for (; *at != '}' && *at != '\0'; at++) {
            unsigned long number = 0;
            for (; *at >= '0' && *at <= '9'; at++)
                number = number > 1000 ? number : number * 10 + (unsigned long)(*at - '0');
            most = number > most ? number : most;
            if (*at == '}' || *at == '\0')
                break;
        }
        product *= most;
        if (product > ALD_REGEX_REPEATS_MAX)
            return "its {m,n} multiply to more than 1024";
        if (*at == '\0')
            break;
    }
    return NULL;
}

const regex_t *ald_regex_load(struct ald_load *load, const struct ald_node *node)
{
    const char *fault = node->kind == ALD_NODE_SCALAR && node->text[0] != '\0'
                            ? rule_regex_fault(node->text)
                            : "it must be a text";
    char why[128];
    if (fault == NULL) {
        regex_t *regex = ald_arena_take(load->arena, sizeof *regex);
        int code = regcomp(regex, node->text, REG_EXTENDED | REG_NOSUB);
        if (code == 0) {
            ald_arena_defer(load->arena, rule_regex_free, regex);
            return regex;
        }
        (void)regerror(code, regex, why, sizeof why);
        fault = why;
    }
    ald_errors_add(load->errors, node, "The pattern \"%.100s\" is no good: %s.", node->text, fault);
    return NULL;
}

static bool rule_status_parse(const char *text, struct ald_statuses *out)
{
    uint64_t value = 0;
    if (strlen(text) == 3 && text[0] >= '1' && text[0] <= '5' && text[1] == 'x' && text[2] == 'x') {
        out->least = (unsigned)(text[0] - '0') * 100;
        out->most = out->least + 99;
        return true;
    }
    if (ald_text_u64(ald_span_str(text), &value) != ALD_OK || value < 100 || value > 599)
        return false;
    *out = (struct ald_statuses){(unsigned)value, (unsigned)value};
    return true;
}

static void rule_status_load(struct ald_load *load, const struct ald_node *node,
                             struct ald_cond *out)
{
    const struct ald_node *item = node->kind == ALD_NODE_LIST ? node->first : node;
    size_t count = node->kind == ALD_NODE_LIST ? node->count : 1;
    out->test = ALD_TEST_STATUS;
    if (count == 0 || count > ALD_WANTS_MAX || node->kind == ALD_NODE_MAP) {
        ald_errors_add(load->errors, node,
                       "http is a status, such as 404 or 2xx, or a list of up "
                       "to %d.",
                       ALD_WANTS_MAX);
        return;
    }
    out->statuses = ald_arena_take(load->arena, count * sizeof *out->statuses);
    for (; item != NULL && out->count < count; item = item->next) {
        if (item->kind != ALD_NODE_SCALAR ||
            !rule_status_parse(item->text, &out->statuses[out->count]))
            ald_errors_add(load->errors, item,
                           "\"%.60s\" is no status; write a number from 100 to 599, or 2xx.",
                           item->text);
        else
            out->count++;
    }
}

static void rule_words_load(struct ald_load *load, const struct ald_node *node, bool listed,
                            struct ald_cond *out)
{
    size_t count = listed ? node->count : 1;
    if (listed != (node->kind == ALD_NODE_LIST) || count == 0 || count > ALD_WANTS_MAX) {
        ald_errors_add(load->errors, node,
                       listed ? "%s takes a list of 1 to %d values."
                              : "%s takes one value; for several write in: [...], up to %d.",
                       node->key, ALD_WANTS_MAX);
        return;
    }
    out->words = ald_arena_take(load->arena, count * sizeof *out->words);
    const struct ald_node *item = listed ? node->first : node;
    for (size_t i = 0; i < count; i++, item = item->next) {
        if (item->kind != ALD_NODE_SCALAR)
            ald_errors_add(load->errors, item, "A value of %s must be a single one.", node->key);
        out->words[out->count++] = ald_arena_text(load->arena, item->text);
    }
}

static void rule_is_load(struct ald_load *load, const struct ald_node *node, struct ald_cond *out)
{
    static const char *const words[] = {"present", "absent",  "nonempty", "scalar", "string",
                                        "number",  "boolean", "object",   "array",  NULL};
    int word = ald_load_word(load, node, words);
    out->test = (enum ald_test)(ALD_TEST_PRESENT + (word < 0 ? 0 : word));
}

/* What is asked of a place: exactly one of eq, ieq, in, iin, is, regex. */
static void rule_test_load(struct ald_load *load, const struct ald_node *map, struct ald_cond *out)
{
    static const char *const tests[] = {"eq", "ieq", "in", "iin", "is", "regex"};
    unsigned found = 0;
    for (size_t i = 0; i < ALD_COUNT(tests); i++) {
        const struct ald_node *node = ald_node_find(map, tests[i]);
        if (node == NULL)
            continue;
        if (found++ > 0) {
            ald_errors_add(load->errors, node, "A condition takes one test only.");
            return;
        }
        if (i == 4)
            rule_is_load(load, node, out);
        else if (i == 5) {
            out->test = ALD_TEST_REGEX;
            out->regex = ald_regex_load(load, node);
        } else {
            out->test = i % 2 == 0 ? ALD_TEST_EQUAL : ALD_TEST_EQUALI;
            rule_words_load(load, node, i >= 2, out);
        }
    }
    if (found == 0)
        ald_errors_add(load->errors, map, "A condition needs a test: eq, ieq, in, iin, is, regex.");
}

/* text_prefix, text_regex and http are place and test in one. */
static bool rule_short_load(struct ald_load *load, const struct ald_node *map, struct ald_cond *out)
{
    const struct ald_node *prefix = ald_node_find(map, "text_prefix");
    const struct ald_node *regex = ald_node_find(map, "text_regex");
    const struct ald_node *http = ald_node_find(map, "http");
    if (prefix == NULL && regex == NULL && http == NULL)
        return false;
    if (map->count > 1) {
        ald_errors_add(load->errors, map,
                       "text_prefix, text_regex and http stand alone in a "
                       "condition.");
    } else if (http != NULL) {
        rule_status_load(load, http, out);
    } else if (prefix != NULL) {
        out->test = ALD_TEST_PRESENT;
        out->place = (struct ald_place){.kind = ALD_PLACE_AFTER,
                                        .name = ald_load_text(load, prefix, ALD_WORDS_MAX)};
    } else {
        out->test = ALD_TEST_REGEX;
        out->place = (struct ald_place){.kind = ALD_PLACE_TEXT, .name = ""};
        out->regex = ald_regex_load(load, regex);
    }
    return true;
}

static void rule_cond_load(struct ald_load *load, const struct ald_node *node, struct ald_cond *out)
{
    static const char *const keys[] = {"http", "json",  "text_prefix", "text_regex", "header",
                                       "form", "query", "value",       "eq",         "ieq",
                                       "in",   "iin",   "is",          "regex",      NULL};
    *out = (struct ald_cond){0};
    size_t before = load->errors->count;
    if (!ald_load_keys(load, node, "A condition", keys) || rule_short_load(load, node, out))
        return;
    if (!ald_place_load(load, node, &out->place)) {
        if (load->errors->count == before)
            ald_errors_add(load->errors, node,
                           "A condition names http, json, text_prefix, text_regex, header, form, "
                           "query or value.");
        return;
    }
    rule_test_load(load, node, out);
}

static void rule_when_load(struct ald_load *load, const struct ald_node *rule, struct ald_rule *out)
{
    const struct ald_node *when = ald_node_find(rule, "when");
    if (when == NULL || when->kind != ALD_NODE_LIST || when->count > ALD_CONDS_MAX) {
        ald_errors_add(load->errors, when != NULL ? when : rule,
                       "A rule needs when: a list of up to %d conditions, [] for always.",
                       ALD_CONDS_MAX);
        return;
    }
    out->conds = ald_arena_take(load->arena, (when->count + 1) * sizeof *out->conds);
    for (const struct ald_node *node = when->first; node != NULL; node = node->next)
        rule_cond_load(load, node, &out->conds[out->cond_count++]);
}

static void rule_then_load(struct ald_load *load, const struct ald_node *rule, struct ald_rule *out)
{
    static const char *const words[] = {"accepted", "done_at_submit", "done",    "failed",
                                        "pending",  "fetch",          "hint",    "ignore",
                                        "code",     "lost",           "unknown", NULL};
    const struct ald_node *then = ald_node_find(rule, "then");
    const struct ald_node *cls = ald_node_find(rule, "class");
    if (then == NULL)
        ald_errors_add(load->errors, rule, "A rule needs then: what the message means.");
    else if (ald_load_word(load, then, words) >= 0 && !ald_then_find(then->text, &out->then))
        out->then = ALD_THEN_UNKNOWN;
    if (cls == NULL)
        return;
    if (!ald_class_find(cls->text, &out->cls) || out->cls == ALD_CLASS_NONE)
        ald_errors_add(load->errors, cls, "There is no class \"%.60s\".", cls->text);
    else if (out->then != ALD_THEN_CODE)
        ald_errors_add(load->errors, cls, "class goes with then: code.");
}

static void rule_load(struct ald_load *load, const struct ald_node *node, struct ald_rule *out)
{
    static const char *const keys[] = {
        "when",   "then",     "id",         "result", "code",           "cost",
        "detail", "poll_url", "result_url", "class",  "same_host_only", NULL};
    *out = (struct ald_rule){0};
    if (!ald_load_keys(load, node, "A rule", keys))
        return;
    rule_when_load(load, node, out);
    rule_then_load(load, node, out);
    struct {
        const char *key;
        struct ald_value *value;
    } const values[] = {{"id", &out->id},
                        {"result", &out->result},
                        {"code", &out->code},
                        {"cost", &out->cost},
                        {"detail", &out->detail},
                        {"poll_url", &out->poll_url},
                        {"result_url", &out->result_url}};
    for (size_t i = 0; i < ALD_COUNT(values); i++) {
        const struct ald_node *value = ald_node_find(node, values[i].key);
        if (value != NULL)
            (void)ald_value_load(load, value, values[i].value);
    }
    out->same_host_only = ald_load_bool(load, ald_node_find(node, "same_host_only"), true);
}

void ald_rules_load(struct ald_load *load, const struct ald_node *list, struct ald_rules *out)
{
    *out = (struct ald_rules){0};
    if (list == NULL)
        return;
    if (list->kind != ALD_NODE_LIST || list->count > ALD_RULES_MAX) {
        ald_errors_add(load->errors, list, "rules must be a list of at most %d rules.",
                       ALD_RULES_MAX);
        return;
    }
    out->list = ald_arena_take(load->arena, (list->count + 1) * sizeof *out->list);
    for (const struct ald_node *node = list->first; node != NULL; node = node->next)
        rule_load(load, node, &out->list[out->count++]);
}

void ald_refusals_load(struct ald_load *load, const struct ald_node *list, struct ald_rules *out)
{
    *out = (struct ald_rules){0};
    if (ald_load_none(list))
        return;
    if (list->kind != ALD_NODE_LIST || list->count > ALD_RULES_MAX) {
        ald_errors_add(load->errors, list, "not_taken must be a list of at most %d conditions.",
                       ALD_RULES_MAX);
        return;
    }
    out->list = ald_arena_take(load->arena, (list->count + 1) * sizeof *out->list);
    for (const struct ald_node *node = list->first; node != NULL; node = node->next) {
        struct ald_rule *rule = &out->list[out->count++];
        *rule = (struct ald_rule){.then = ALD_THEN_CODE, .cls = ALD_CLASS_TRANSIENT};
        rule->conds = ald_arena_take(load->arena, sizeof *rule->conds);
        rule->cond_count = 1;
        rule_cond_load(load, node, &rule->conds[0]);
    }
}

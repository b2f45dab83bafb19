#include "common/config/budget.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/setting.h"

/* A budget as the settings' table fills it. */
struct budget_form {
    char name[ALD_BUDGET_NAME_MAX];
    char scope[8];
    int64_t requests;
    int64_t per_ms;
    int64_t min_gap_ms;
    char formula[64];
    struct ald_texts counts;
    int64_t hint_share;
};

#define FIELD(name) offsetof(struct budget_form, name), sizeof(((struct budget_form *)0)->name)

/* A window is a list of its requests in the tracker's memory: hence the most of requests. */
static const struct ald_setting BUDGET_ROWS[] = {
    {"name", ALD_SETTING_TEXT, FIELD(name), "", 0, 0, 0, NULL, "What is counted, for people."},
    {"scope", ALD_SETTING_WORD, FIELD(scope), "account", 0, 0, 0, "account ip task",
     "Whose budget it is."},
    {"requests", ALD_SETTING_INT, FIELD(requests), "0", 0, 100000, 0, NULL,
     "Most requests of a window."},
    {"per", ALD_SETTING_DURATION, FIELD(per_ms), "0s", 0, INT64_C(31) * 86400000, 0, NULL,
     "Length of the window."},
    {"min_gap", ALD_SETTING_DURATION, FIELD(min_gap_ms), "0s", 0, 3600000, 0, NULL,
     "Least time between two requests."},
    {"formula", ALD_SETTING_TEXT, FIELD(formula), "", 0, 0, 0, NULL, "R <= N*C + M."},
    {"counts", ALD_SETTING_LIST, FIELD(counts), "", 0, 0, 0, NULL, "Kinds of requests."},
    {"hint_share", ALD_SETTING_PERCENT, FIELD(hint_share), "10%", 0, 100, 0, NULL,
     "Share of polls that callbacks ask for."},
};

static const struct ald_setting_table BUDGET_TABLE = {.rows = BUDGET_ROWS,
                                                      .count = ALD_COUNT(BUDGET_ROWS)};

static const struct {
    const char *word;
    unsigned bit;
} BUDGET_COUNTS[] = {{"poll", ALD_COUNTS_POLL},
                     {"submit", ALD_COUNTS_SUBMIT},
                     {"fetch", ALD_COUNTS_FETCH},
                     {"balance", ALD_COUNTS_BALANCE},
                     {"report", ALD_COUNTS_REPORT}};

/* Take a word from the front of text, white space aside. */
static bool budget_word(struct ald_span *text, const char *word)
{
    size_t len = strlen(word);
    *text = ald_span_trim(*text);
    if (text->len < len || memcmp(text->data, word, len) != 0)
        return false;
    *text = ald_span_skip(*text, len);
    return true;
}

static bool budget_number(struct ald_span *text, int64_t *out)
{
    size_t len = 0;
    *text = ald_span_trim(*text);
    while (len < text->len && text->data[len] >= '0' && text->data[len] <= '9')
        len++;
    bool ok = len <= 9 && ald_text_i64(ald_span_of(text->data, len), out) == ALD_OK;
    *text = ald_span_skip(*text, len);
    return ok;
}

static bool budget_formula(const char *formula, struct ald_budget *out)
{
    struct ald_span text = ald_span_str(formula);
    return budget_word(&text, "R") && budget_word(&text, "<=") &&
           budget_number(&text, &out->each) && budget_word(&text, "*") && budget_word(&text, "C") &&
           budget_word(&text, "+") && budget_number(&text, &out->base) &&
           ald_span_trim(text).len == 0;
}

static unsigned budget_counts(const struct ald_node *at, const struct ald_texts *words,
                              struct ald_errors *errors)
{
    unsigned counts = 0;
    for (size_t i = 0; i < words->count; i++) {
        unsigned bit = 0;
        for (size_t k = 0; k < ALD_COUNT(BUDGET_COUNTS); k++)
            if (strcmp(BUDGET_COUNTS[k].word, words->item[i]) == 0)
                bit = BUDGET_COUNTS[k].bit;
        if (bit == 0)
            ald_errors_add(errors, at,
                           "counts holds poll, submit, fetch, balance and report, not %.64s.",
                           words->item[i]);
        counts |= bit;
    }
    return counts;
}

/* What it counts when it does not say so. */
static unsigned budget_counts_unsaid(const struct ald_node *profile, const struct ald_budget *one)
{
    const struct ald_node *url = ald_node_at(profile, "submit.request.url");
    const char *slash = url != NULL ? strrchr(url->text, '/') : NULL;
    bool submit = slash != NULL && strcmp(slash + 1, one->name) == 0;
    if (submit)
        return ALD_COUNTS_SUBMIT;
    return one->per_task ? ALD_COUNTS_POLL : ALD_COUNTS_POLL | ALD_COUNTS_FETCH;
}

/* Where polls and fetches count together, one of each goes out in one lease: without room for both
 * none would ever go. What is for hints is not for them. */
static bool budget_too_narrow(const struct ald_node *profile, const struct ald_budget *one)
{
    const unsigned both = ALD_COUNTS_POLL | ALD_COUNTS_FETCH;
    const int64_t whole = one->formula ? one->each + one->base : one->requests;
    if (one->per_task || (one->counts & both) != both || whole == 0 ||
        ald_node_at(profile, "fetch.request") == NULL)
        return false;
    return whole < (one->hint_share > 0 ? 3 : 2);
}

static void budget_check(const struct ald_node *at, const struct budget_form *form,
                         struct ald_budget *out, struct ald_errors *errors)
{
    if (form->name[0] == '\0')
        ald_errors_add(errors, at, "A budget needs a name.");
    if (out->formula && !budget_formula(form->formula, out))
        ald_errors_add(errors, at, "formula is of the form R <= 20*C + 1200, not %s.",
                       form->formula);
    if (out->formula && (out->requests > 0 || out->per_ms > 0 || out->per_task))
        ald_errors_add(errors, at,
                       "A formula counts all requests of an account: it goes without requests, per "
                       "and scope: task.");
    if (!out->formula && out->requests == 0 && out->min_gap_ms == 0)
        ald_errors_add(errors, at, "A budget needs requests, min_gap or formula.");
    if (!out->formula && !out->per_task && (out->requests > 0) != (out->per_ms > 0))
        ald_errors_add(errors, at, "requests and per go together: 60 requests per 3s.");
    if (out->per_task && out->per_ms > 0)
        ald_errors_add(errors, at,
                       "With scope: task, requests are those of the whole task: no per.");
}

static void budget_read(const struct ald_node *profile, const struct ald_node *node,
                        struct ald_errors *errors, struct ald_budget *out)
{
    struct budget_form form = {0};
    size_t before = errors->count;
    ald_setting_defaults(&BUDGET_TABLE, &form);
    ald_setting_take_tree(&BUDGET_TABLE, node, errors, &form);
    *out = (struct ald_budget){.per_task = strcmp(form.scope, "task") == 0,
                               .requests = form.requests,
                               .per_ms = form.per_ms,
                               .min_gap_ms = form.min_gap_ms,
                               .formula = form.formula[0] != '\0',
                               .hint_share = (unsigned)form.hint_share};
    memcpy(out->name, form.name, sizeof out->name);
    out->counts = form.counts.count > 0 ? budget_counts(node, &form.counts, errors)
                                        : budget_counts_unsaid(profile, out);
    if (errors->count == before)
        budget_check(node, &form, out, errors);
    if (errors->count == before && budget_too_narrow(profile, out))
        ald_errors_add(errors, node,
                       "%s counts a poll and the fetch of its result, which go out together: it "
                       "needs room for two, and for one more where hint_share is not 0%%.",
                       out->name);
}

void ald_budgets_read(const struct ald_node *profile, struct ald_errors *errors,
                      struct ald_budgets *out)
{
    const struct ald_node *list = ald_node_find(profile, "budgets");
    *out = (struct ald_budgets){0};
    if (list == NULL || ald_node_null(list))
        return;
    if (list->kind != ALD_NODE_LIST) {
        ald_errors_add(errors, list, "budgets is a list of budgets.");
        return;
    }
    for (const struct ald_node *node = list->first; node != NULL; node = node->next) {
        if (out->count == ALD_BUDGETS_MAX) {
            ald_errors_add(errors, node, "A profile has at most %d budgets.", ALD_BUDGETS_MAX);
            return;
        }
        if (node->kind != ALD_NODE_MAP) {
            ald_errors_add(errors, node,
                           "A budget is a mapping: {name: ..., requests: ..., per: ...}.");
            continue;
        }
        struct ald_budget *one = &out->list[out->count];
        budget_read(profile, node, errors, one);
        for (unsigned i = 0; i < out->count; i++)
            if (one->name[0] != '\0' && strcmp(out->list[i].name, one->name) == 0)
                ald_errors_add(errors, node, "There are two budgets called %s.", one->name);
        out->count++;
    }
}

static void budget_print(const struct ald_budget *one, struct ald_buf *out)
{
    const char *before = "";
    ald_buf_printf(out, "- {name: \"%s\", scope: %s, ", one->name,
                   one->per_task ? "task" : "account");
    if (one->formula)
        ald_buf_printf(out, "formula: \"R <= %" PRId64 "*C + %" PRId64 "\", ", one->each,
                       one->base);
    if (one->requests > 0)
        ald_buf_printf(out, "requests: %" PRId64 ", ", one->requests);
    if (one->per_ms > 0)
        ald_buf_printf(out, "per: %" PRId64 "ms, ", one->per_ms);
    ald_buf_printf(out, "min_gap: %" PRId64 "ms, hint_share: %u%%, counts: [", one->min_gap_ms,
                   one->hint_share);
    for (size_t k = 0; k < ALD_COUNT(BUDGET_COUNTS); k++) {
        if ((one->counts & BUDGET_COUNTS[k].bit) == 0)
            continue;
        ald_buf_printf(out, "%s%s", before, BUDGET_COUNTS[k].word);
        before = ", ";
    }
    ald_buf_put_str(out, "]}\n");
}

void ald_budgets_print(const struct ald_budgets *budgets, unsigned indent, struct ald_buf *out)
{
    if (budgets->count == 0)
        return;
    ald_buf_printf(out, "%*sbudgets:\n", (int)indent, "");
    for (unsigned i = 0; i < budgets->count; i++) {
        ald_buf_printf(out, "%*s", (int)indent + 2, "");
        budget_print(&budgets->list[i], out);
    }
}

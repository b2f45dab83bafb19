/* budget.h - how often a provider may be asked: the `budgets:` of a profile, as written.
 *
 *     budgets:
 *       - { name: in.php, scope: account, requests: 60, per: 3s, min_gap: 100ms }
 *       - { name: res.php, formula: "R <= 20*C + 1200", counts: [poll, balance, report] }
 *
 * It reads and checks; who may go when is decided by the tracker (services/tracker/budget.h). A
 * formula is two numbers and nothing more general: R requests that count, C tasks that were given
 * to the provider.
 * Threads: pure; what was read may be read by any thread.
 */
#ifndef ALD_CONFIG_BUDGET_H
#define ALD_CONFIG_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/config/yaml.h"

enum { ALD_BUDGETS_MAX = 4, ALD_BUDGET_NAME_MAX = 33 };

/* Kinds of requests; a budget counts some of them. */
enum {
    ALD_COUNTS_POLL = 1,
    ALD_COUNTS_SUBMIT = 2,
    ALD_COUNTS_FETCH = 4,
    ALD_COUNTS_BALANCE = 8,
    ALD_COUNTS_REPORT = 16
};

struct ald_budget {
    char name[ALD_BUDGET_NAME_MAX];
    bool per_task;      /* scope: task; else the account's. ip is taken as account */
    unsigned counts;    /* ALD_COUNTS_ bits */
    int64_t requests;   /* 0 = no window; of a task in all, when per_task */
    int64_t per_ms;     /* of the window */
    int64_t min_gap_ms; /* between two requests */
    bool formula;       /* R <= each * C + base */
    int64_t each, base;
    unsigned hint_share; /* percent that polls asked for by callbacks have to themselves */
};

struct ald_budgets {
    unsigned count;
    struct ald_budget list[ALD_BUDGETS_MAX];
};

/* Read the `budgets` of a profile; without any, out is empty. A budget that does not say what it
 * counts counts submissions when its name is the last part of submit.request.url, else polls and
 * fetches. Everything that is wrong is appended to errors. */
void ald_budgets_read(const struct ald_node *profile, struct ald_errors *errors,
                      struct ald_budgets *out);

/* Write them as YAML, each with its defaults, behind so many spaces. */
void ald_budgets_print(const struct ald_budgets *budgets, unsigned indent, struct ald_buf *out);

#endif

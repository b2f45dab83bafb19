/* `providers:` as YAML, for people. */
#include "common/config/load.h"
#include "common/config/merge.h"
#include "common/config/profile.h"
#include "common/config/profile_form.h"
#include "common/config/profile_plain.h"

/* A profile on its way out. */
struct profile_print {
    const struct ald_node *node; /* with what it extends */
    struct ald_profile_form form;
    bool polls;
    bool calls;
    const char *skipped[10]; /* keys of no interest; NULL-ended */
};

static void print_skip(struct profile_print *self, const char *key)
{
    size_t count = 0;
    while (self->skipped[count] != NULL)
        count++;
    ALD_ASSERT(count + 1 < ALD_COUNT(self->skipped));
    self->skipped[count] = key;
}

/* The settings of a profile with rules; rules and requests are for who wrote them. */
static void print_read_ruled(struct profile_print *self, struct ald_errors *unsaid)
{
    static const char *const compiled[] = {
        "family", "dialect", "secrets", "poll.request.method", "poll.request.url", "poll.batch"};
    ald_profile_form_ruled(self->node, unsaid, &self->form);
    self->polls = !ald_load_none(ald_node_find(self->node, "poll"));
    self->calls = !ald_load_none(ald_node_find(self->node, "callback"));
    for (size_t i = 0; i < ALD_COUNT(compiled); i++)
        print_skip(self, compiled[i]);
}

static void print_read_family(struct profile_print *self, struct ald_errors *unsaid)
{
    ald_profile_form_family(self->node, false, unsaid, &self->form);
    if (ald_node_at(self->node, "secrets.key") != NULL)
        self->form.key[0] = '?'; /* there is one: it is printed as a mask */
    self->polls = !ald_profile_never_polls(self->node);
    self->calls = true;
}

static void print_write(const struct profile_print *self, const struct ald_budgets *budgets,
                        struct ald_buf *out)
{
    const struct ald_setting_table table = {
        .rows = ALD_PROFILE_ROWS, .count = ALD_PROFILE_ROW_COUNT, .foreign = self->skipped};
    ald_setting_print(&table, &self->form, 4, out);
    if (self->calls)
        ald_auth_print(self->node, 8, out);
    ald_buf_put_str(out, self->polls ? "" : "    poll: none\n");
    ald_buf_put_str(out, self->calls ? "" : "    callback: none\n");
    ald_budgets_print(budgets, 4, out);
}

static void print_profile(struct ald_merge *merge, const struct ald_node *own, struct ald_buf *out)
{
    ald_yaml_t *doc = NULL;
    const struct ald_node *whole = ald_merge_profile(merge, own, &doc);
    struct profile_print self = {.node = whole != NULL ? whole : own, .skipped = {"profile"}};
    const struct ald_node *extends = ald_node_find(own, "extends");
    bool ruled = whole != NULL && ald_profile_is_ruled(whole);
    struct ald_budgets budgets;
    if (ruled)
        print_read_ruled(&self, merge->errors);
    else
        print_read_family(&self, merge->errors);
    ald_budgets_read(self.node, merge->errors, &budgets);
    if (!self.polls)
        print_skip(&self, "poll");
    if (!self.calls)
        print_skip(&self, "callback");
    ald_buf_printf(out, "  %s:\n", own->key);
    if (ruled && extends != NULL)
        ald_buf_printf(out, "    extends: %s\n", extends->text);
    print_write(&self, &budgets, out);
    if (ruled)
        ald_buf_printf(out, "    # rules, requests and codes: as %s%s has them\n", own->file,
                       extends != NULL ? ", and what it extends," : "");
    ald_yaml_destroy(&doc);
}

void ald_profiles_print(const struct ald_node *providers, struct ald_buf *out)
{
    if (providers == NULL || providers->kind != ALD_NODE_MAP || providers->count == 0) {
        ald_buf_put_str(out, "providers: {}\n");
        return;
    }
    ald_buf_put_str(out, "providers:\n");
    struct ald_errors unsaid;
    struct ald_merge merge;
    ald_errors_init(&unsaid);
    ald_merge_init(&merge, providers, &unsaid);
    for (const struct ald_node *node = providers->first; node != NULL; node = node->next)
        print_profile(&merge, node, out);
    ald_merge_free(&merge);
    ald_errors_free(&unsaid);
}

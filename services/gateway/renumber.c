#include "services/gateway/renumber.h"

#include "common/base/log.h"
#include "common/base/text.h"

bool renumber_wanted(struct renumber *self, const struct msg_welcome *welcome)
{
    bool reused = !self->met && self->first != 0 && welcome->seen >= self->first;
    self->met = true;
    return reused || welcome->renumber;
}

void renumber_do(ald_spool_t *spool, ald_courier_t *courier)
{
    char old[ALD_ULID_MAX];
    ald_text_cut(old, sizeof old, ald_span_str(ald_spool_id(spool)));
    enum ald_rc rc = ald_spool_renumber(spool);
    ald_courier_rename(courier, ald_spool_id(spool));
    ald_log(
        ALD_ERROR, "spool.renumbered",
        "old=%s new=%s rc=%s text=\"its numbers are used by another one: the spool was copied, set "
        "back, or its log is damaged; it goes on by a new id and sends all that it has\"",
        old, ald_spool_id(spool), ald_rc_name(rc));
}

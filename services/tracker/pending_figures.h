/* pending_figures.h - how much is owed: what limits and figures ask of pending.h. Costs no walk. */
#ifndef ALD_TRACKER_PENDING_FIGURES_H
#define ALD_TRACKER_PENDING_FIGURES_H

#include "services/tracker/pending.h"

/* Open tasks. */
size_t pending_count(const pending_t *self);
size_t pending_count_phase(const pending_t *self, enum pending_phase phase);
/* Open tasks whose provider id is not known yet. */
size_t pending_count_unattached(const pending_t *self);
/* Leased ones that are polled. */
size_t pending_count_polling(const pending_t *self);

/* Since when the account's longest queued task is due; -1: none is. */
int64_t pending_oldest_due(const struct pending_account *account);

#endif

/* browse_inside.h - what browse.c (one letter, work), browse_lists.c (many) and replays.c share. */
#ifndef ALD_DLQ_BROWSE_INSIDE_H
#define ALD_DLQ_BROWSE_INSIDE_H

#include "services/dlq/browse.h"

#define BROWSE_ROW                                                                                 \
    "SELECT letter, reason, cause, provider, task, provider_id, proof, state, outcome, made,"      \
    " closed, due, attempts, revision, pinned, by_person, who, believe, bytes, sending, closing,"  \
    " stranger, consumer, pile, replay FROM letters "

#define BROWSE_TEXT(field, column)                                                                 \
    ald_text_cut((field), sizeof(field), ald_stmt_text(stmt, (column)))

/* The row of a statement that begins with BROWSE_ROW. */
void browse_row(ald_stmt_t *stmt, struct shelf_row *out);

ALD_NODISCARD enum ald_rc browse_prepare(shelf_t *shelf, const char *sql, ald_stmt_t **out);

#endif

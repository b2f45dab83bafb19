/* shelf_inside.h - what a shelf is made of: for shelf.c (opening, transactions) and rows.c (what is
 * written in them) alone. */
#ifndef ALD_DLQ_SHELF_INSIDE_H
#define ALD_DLQ_SHELF_INSIDE_H

#include "common/store/mark.h"
#include "services/dlq/shelf.h"

/* What is kept in memory and written with each transaction. */
struct shelf_numbers {
    struct tally tally;
    uint64_t next; /* number to send under */
};

struct shelf {
    char path[ALD_STORE_PATH_MAX];
    ald_store_t *store; /* NULL: not ready */
    ald_mark_t *mark;   /* the next number, in a file of its own */
    char run[ALD_ULID_MAX];
    char sender[ALD_ULID_MAX];
    struct shelf_numbers now;
    struct shelf_numbers saved; /* as committed */
};

#endif

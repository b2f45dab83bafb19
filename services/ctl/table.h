/* table.h - rows of cells, written in columns as wide as they need to be.
 *
 * A cell is a text from anywhere: it is escaped, so that it stays in its place and steers no
 * terminal, and cut when it is long. Pure; one owner.
 */
#ifndef ALD_CTL_TABLE_H
#define ALD_CTL_TABLE_H

#include "common/base/buf.h"

enum tone { TONE_PLAIN, TONE_GOOD, TONE_BAD, TONE_WAIT, TONE_DIM };

enum { TABLE_COLUMNS_MAX = 16, TABLE_CELL_MAX = 96 };

typedef struct table table_t;

/* heads: a title for each column, borrowed; one that begins with '>' is set to the right. */
table_t *table_new(const char *const *heads, size_t columns);
void table_destroy(table_t **self_p);

/* The next cell, row by row. */
void table_put(table_t *self, struct ald_span text, enum tone tone);
void table_put_str(table_t *self, const char *text, enum tone tone);
size_t table_rows(const table_t *self);

/* Write titles and whole rows. */
void table_write(const table_t *self, bool color, struct ald_buf *out);

/* Write text in its tone, without the colour if color is false. text goes in as it is. */
void tone_write(struct ald_buf *out, const char *text, enum tone tone, bool color);

#endif

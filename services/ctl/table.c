#include "services/ctl/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"
#include "common/base/text.h"

enum { TABLE_CELLS_MAX = 1 << 20, TABLE_ESCAPED_MAX = 4 * TABLE_CELL_MAX };

struct table_cell {
    enum tone tone;
    char text[TABLE_CELL_MAX];
};

struct table {
    const char *const *heads;
    size_t columns;
    struct table_cell *cells;
    size_t count;
    size_t room;
    bool full; /* cells were left out */
};

table_t *table_new(const char *const *heads, size_t columns)
{
    ALD_ASSERT(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    table_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->heads = heads;
    self->columns = columns;
    return self;
}

void table_destroy(table_t **self_p)
{
    if (*self_p == NULL)
        return;
    free((*self_p)->cells);
    free(*self_p);
    *self_p = NULL;
}

static struct table_cell *table_next(table_t *self)
{
    if (self->count == TABLE_CELLS_MAX)
        return NULL;
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 64;
        self->cells = realloc(self->cells, self->room * sizeof self->cells[0]);
        ALD_ASSERT(self->cells != NULL);
    }
    return &self->cells[self->count++];
}

void table_put(table_t *self, struct ald_span text, enum tone tone)
{
    struct table_cell *cell = table_next(self);
    if (cell == NULL) {
        self->full = true;
        return;
    }
    struct ald_buf escaped;
    ald_buf_init(&escaped, TABLE_ESCAPED_MAX);
    if (text.len > TABLE_CELL_MAX)
        text.len = TABLE_CELL_MAX;
    ald_text_show(&escaped, text);
    cell->tone = tone;
    bool cut = escaped.len >= sizeof cell->text;
    ald_text_cut(cell->text, sizeof cell->text - (cut ? 3 : 0), ald_buf_span(&escaped));
    if (cut)
        memcpy(cell->text + strlen(cell->text), "...", 4);
    ald_buf_free(&escaped);
}

void table_put_str(table_t *self, const char *text, enum tone tone)
{
    table_put(self, ald_span_str(text), tone);
}

size_t table_rows(const table_t *self)
{
    return self->count / self->columns;
}

/* Characters, which UTF-8 may spell in several bytes. */
static size_t table_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static const char *table_title(const table_t *self, size_t column)
{
    const char *head = self->heads[column];
    return head[0] == '>' ? head + 1 : head;
}

static void table_spaces(struct ald_buf *out, size_t count)
{
    while (count-- > 0)
        ald_buf_put_byte(out, ' ');
}

void tone_write(struct ald_buf *out, const char *text, enum tone tone, bool color)
{
    static const char *const codes[] = {[TONE_PLAIN] = "",
                                        [TONE_GOOD] = "\033[32m",
                                        [TONE_BAD] = "\033[31m",
                                        [TONE_WAIT] = "\033[33m",
                                        [TONE_DIM] = "\033[2m"};
    bool dressed = color && tone != TONE_PLAIN;
    ald_buf_put_str(out, dressed ? codes[tone] : "");
    ald_buf_put_str(out, text);
    ald_buf_put_str(out, dressed ? "\033[0m" : "");
}

static void table_write_row(const table_t *self, const size_t *widths, const char *const *texts,
                            const enum tone *tones, bool color, struct ald_buf *out)
{
    size_t owed = 0; /* spaces that only a further text needs */
    for (size_t i = 0; i < self->columns; i++) {
        size_t lack = widths[i] - table_width(texts[i]);
        bool right = self->heads[i][0] == '>';
        if (texts[i][0] == '\0') {
            owed += widths[i] + 2;
            continue;
        }
        table_spaces(out, owed + (right ? lack : 0));
        tone_write(out, texts[i], tones[i], color);
        owed = 2 + (right ? 0 : lack);
    }
    ald_buf_put_byte(out, '\n');
}

void table_write(const table_t *self, bool color, struct ald_buf *out)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0};
    const char *texts[TABLE_COLUMNS_MAX] = {NULL};
    enum tone tones[TABLE_COLUMNS_MAX] = {TONE_PLAIN};
    size_t rows = table_rows(self);
    for (size_t i = 0; i < self->columns; i++) {
        texts[i] = table_title(self, i);
        tones[i] = TONE_DIM;
        widths[i] = table_width(texts[i]);
        for (size_t row = 0; row < rows; row++) {
            size_t width = table_width(self->cells[row * self->columns + i].text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    table_write_row(self, widths, texts, tones, color, out);
    for (size_t row = 0; row < rows; row++) {
        const struct table_cell *cells = &self->cells[row * self->columns];
        for (size_t i = 0; i < self->columns; i++) {
            texts[i] = cells[i].text;
            tones[i] = cells[i].tone;
        }
        table_write_row(self, widths, texts, tones, color, out);
    }
    if (self->full)
        ald_buf_put_str(out, "... there are more\n");
}

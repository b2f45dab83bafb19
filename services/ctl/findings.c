#include "services/ctl/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { FINDINGS_TEXT_MAX = 1024, FINDINGS_TEXTS_MAX = 1 << 20, FINDINGS_LETTERS_MAX = 1 << 26 };

void findings_init(struct findings *self)
{
    *self = (struct findings){0};
    ald_buf_init(&self->problems, FINDINGS_TEXTS_MAX);
    ald_buf_init(&self->notes, FINDINGS_TEXTS_MAX);
}

void findings_free(struct findings *self)
{
    ald_buf_free(&self->problems);
    ald_buf_free(&self->notes);
    free(self->letters);
    self->letters = NULL;
}

void findings_problem(struct findings *self, const char *format, ...)
{
    char text[FINDINGS_TEXT_MAX];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ald_buf_printf(&self->problems, "%s\n", text);
    self->problem_count++;
}

static void findings_take_fact(struct findings *self, const char *rest)
{
    size_t len = strcspn(rest, " ");
    int64_t value = 0;
    if (self->fact_count == FINDINGS_FACTS_MAX || rest[len] != ' ' || len >= FINDINGS_NAME_MAX ||
        ald_text_i64(ald_span_str(rest + len + 1), &value) != ALD_OK) {
        findings_problem(self, "a program said what can't be understood: fact %.100s", rest);
        return;
    }
    memcpy(self->facts[self->fact_count].name, rest, len);
    self->facts[self->fact_count].name[len] = '\0';
    self->facts[self->fact_count++].value = value;
}

static struct findings_letter *findings_next(struct findings *self)
{
    if (self->letter_count == FINDINGS_LETTERS_MAX)
        return NULL;
    if (self->letter_count == self->letter_room) {
        self->letter_room = self->letter_room ? 2 * self->letter_room : 1024;
        self->letters = realloc(self->letters, self->letter_room * sizeof self->letters[0]);
        ALD_ASSERT(self->letters != NULL);
    }
    return &self->letters[self->letter_count++];
}

static void findings_take_letter(struct findings *self, const char *rest)
{
    static const char *const words[] = {"open", "outbox", "live", "closing"};
    size_t len = strcspn(rest, " ");
    for (size_t i = 0; i < ALD_COUNT(words) && rest[len] == ' ' && len < FINDINGS_LETTER_MAX; i++) {
        if (strcmp(rest + len + 1, words[i]) != 0)
            continue;
        struct findings_letter *letter = findings_next(self);
        if (letter == NULL)
            break;
        memcpy(letter->id, rest, len);
        letter->id[len] = '\0';
        letter->where = (uint8_t)(1u << i);
        return;
    }
    findings_problem(self, "a program said what can't be understood: letter %.100s", rest);
}

void findings_line(struct findings *self, const char *line)
{
    static const struct {
        const char *word;
        void (*take)(struct findings *self, const char *rest);
    } kinds[] = {{"fact ", findings_take_fact}, {"letter ", findings_take_letter}};
    for (size_t i = 0; i < ALD_COUNT(kinds); i++) {
        size_t len = strlen(kinds[i].word);
        if (strncmp(line, kinds[i].word, len) != 0)
            continue;
        kinds[i].take(self, line + len);
        return;
    }
    if (strncmp(line, "problem ", 8) == 0)
        findings_problem(self, "%s", line + 8);
    else if (strncmp(line, "note ", 5) == 0)
        ald_buf_printf(&self->notes, "%s\n", line + 5);
    else
        findings_problem(self, "a program said what can't be understood: %.100s", line);
}

static size_t findings_find(const struct findings *self, const char *name)
{
    size_t at = 0;
    while (at < self->fact_count && strcmp(self->facts[at].name, name) != 0)
        at++;
    return at;
}

int64_t findings_fact(const struct findings *self, const char *name)
{
    size_t at = findings_find(self, name);
    return at < self->fact_count ? self->facts[at].value : 0;
}

bool findings_has(const struct findings *self, const char *name)
{
    return findings_find(self, name) < self->fact_count;
}

/* ---- letters ---- */

static int findings_compare(const void *left, const void *right)
{
    const struct findings_letter *a = left;
    const struct findings_letter *b = right;
    return strcmp(a->id, b->id);
}

/* Sorted, and a row a letter. */
static void findings_settle(struct findings *self)
{
    size_t kept = 0;
    if (self->letter_count == 0)
        return;
    qsort(self->letters, self->letter_count, sizeof self->letters[0], findings_compare);
    for (size_t i = 1; i < self->letter_count; i++) {
        if (strcmp(self->letters[kept].id, self->letters[i].id) == 0)
            self->letters[kept].where |= self->letters[i].where;
        else
            self->letters[++kept] = self->letters[i];
    }
    self->letter_count = kept + 1;
}

static bool findings_is_lost(const struct findings_letter *letter)
{
    return (letter->where & FINDINGS_OPEN) != 0 &&
           (letter->where & (FINDINGS_OUTBOX | FINDINGS_LIVE | FINDINGS_CLOSING)) == 0;
}

static bool findings_was_lost(const struct findings *before, const struct findings_letter *letter)
{
    const struct findings_letter *found =
        before->letter_count == 0 ? NULL
                                  : bsearch(letter, before->letters, before->letter_count,
                                            sizeof *letter, findings_compare);
    return found != NULL && findings_is_lost(found);
}

size_t findings_lost(struct findings *self, struct findings *before, findings_letter_fn *fn,
                     void *context)
{
    size_t lost = 0;
    findings_settle(self);
    if (before != NULL)
        findings_settle(before);
    for (size_t i = 0; i < self->letter_count; i++) {
        if (!findings_is_lost(&self->letters[i]))
            continue;
        if (before != NULL && !findings_was_lost(before, &self->letters[i]))
            continue;
        lost++;
        if (fn != NULL)
            fn(context, self->letters[i].id);
    }
    return lost;
}

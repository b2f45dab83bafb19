#include "services/ctl/top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/ctl/age.h"
#include "services/ctl/table.h"

enum { PAGE_LINE_MAX = 1024, PAGE_NAME = 11, PAGE_DETAIL_ROWS = 2 };

double top_rate(const struct top_look *before, const struct top_look *now, int64_t was, int64_t is)
{
    if (before == NULL || !before->there || !before->tracker || !now->there || !now->tracker ||
        now->mono_ms <= before->mono_ms || is < was)
        return -1;
    return (double)(is - was) * 1000.0 / (double)(now->mono_ms - before->mono_ms);
}

/* ---- lines ---- */

struct page {
    const struct top_view *view;
    struct ald_buf *out;
    unsigned used; /* lines written */
    char line[PAGE_LINE_MAX];
    enum tone tone; /* of the line in the making */
};

static unsigned page_columns(const struct page *self)
{
    unsigned columns = self->view->columns;
    return columns == 0 ? 100 : columns < TOP_COLUMNS_MIN ? TOP_COLUMNS_MIN : columns;
}

/* Is there room for so many lines more, besides those at the end? */
static bool page_room(const struct page *self, unsigned lines)
{
    unsigned kept = self->view->keys ? 1 : 0;
    return self->view->rows == 0 || self->used + lines + kept <= self->view->rows;
}

/* How many bytes of a text are so many characters. */
static size_t page_cut(const char *text, size_t columns)
{
    size_t at = 0;
    for (size_t shown = 0; text[at] != '\0'; at++) {
        shown += ((unsigned char)text[at] & 0xC0) != 0x80;
        if (shown > columns)
            break;
    }
    return at;
}

/* A line as it is; what is wider than the terminal is cut, and spaces at its end. */
static void page_put(struct page *self, const char *text, enum tone tone)
{
    char cut[PAGE_LINE_MAX];
    size_t len = page_cut(text, page_columns(self));
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (!page_room(self, 1))
        return;
    (void)snprintf(cut, sizeof cut, "%.*s", (int)len, text);
    tone_write(self->out, cut, tone, self->view->color);
    ald_buf_put_byte(self->out, '\n');
    self->used++;
}

static void page_begin(struct page *self, const char *name)
{
    (void)snprintf(self->line, sizeof self->line, "%-*s ", PAGE_NAME, name);
    self->tone = TONE_PLAIN;
}

static void page_add(struct page *self, const char *format, ...) ALD_PRINTF(2, 3);

static void page_add(struct page *self, const char *format, ...)
{
    size_t len = strlen(self->line);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(self->line + len, sizeof self->line - len, format, list);
    va_end(list);
}

static void page_age(struct page *self, int64_t age_ms)
{
    char text[AGE_TEXT_MAX];
    page_add(self, "%s", age_text(age_ms, text));
}

static void page_end(struct page *self)
{
    page_put(self, self->line, self->tone);
}

static void page_rate(struct page *self, double rate, const char *what)
{
    if (rate < 0)
        page_add(self, "%8s/s %s", "-", what);
    else
        page_add(self, "%8.1f/s %s", rate, what);
}

/* ---- the parts ---- */

static void page_head(struct page *self, const struct top_look *now)
{
    char at[32];
    ald_clock_rfc3339(now->wall_ms, at);
    (void)snprintf(self->line, sizeof self->line, "aldaba %s  %.19sZ", self->view->url, at);
    if (now->there && now->tracker && now->run_ms > 0) {
        page_add(self, "  running ");
        page_age(self, now->run_ms);
    }
    page_add(self, "%s", self->view->paused ? "  PAUSED" : "");
    page_put(self, self->line, self->view->paused ? TONE_WAIT : TONE_DIM);
}

static void page_services(struct page *self, const struct top_look *now)
{
    page_begin(self, "services");
    page_add(self, "gateway answers, tracker %s, dlq %s",
             now->tracker ? "answers" : "does NOT answer",
             now->dlq ? "answers" : "does NOT answer");
    if (now->tracker)
        page_add(self, ", %lld poller%s", (long long)now->pollers, now->pollers == 1 ? "" : "s");
    bool well = now->tracker && now->dlq && now->pollers > 0;
    self->tone = well ? TONE_PLAIN : TONE_BAD;
    page_end(self);
}

static void page_books(struct page *self, const struct top_look *now)
{
    page_begin(self, "books");
    if (now->unbalanced[0] == '\0') {
        page_add(self, "balance; feed head %s", now->head);
    } else {
        page_add(self, "do NOT balance: %s; see 'aldaba audit'", now->unbalanced);
        self->tone = TONE_BAD;
    }
    page_end(self);
}

static void page_rates(struct page *self, const struct top_look *before, const struct top_look *now)
{
    static const struct top_look none = {0};
    const struct top_look *was = before ? before : &none;
    page_begin(self, "results");
    for (size_t i = 0; i < TOP_NETS; i++)
        page_rate(self, top_rate(before, now, was->net[i], now->net[i]), TOP_NET_NAMES[i]);
    page_end(self);
    page_begin(self, "traffic");
    page_rate(self, top_rate(before, now, was->received, now->received), "arrive  ");
    page_rate(self, top_rate(before, now, was->asked, now->asked), "polled");
    page_rate(self, top_rate(before, now, was->ended, now->ended), "ended");
    page_end(self);
}

static void page_tasks(struct page *self, const struct top_look *now)
{
    const struct {
        int64_t count;
        const char *name;
    } parts[] = {{now->accepted, "accepted"},
                 {now->submitting, "submitting"},
                 {now->pending, "pending"},
                 {now->polling, "polling"}};
    const char *between = ": ";
    page_begin(self, "tasks");
    page_add(self, "%lld open", (long long)now->open);
    for (size_t i = 0; i < ALD_COUNT(parts); i++) {
        if (parts[i].count == 0)
            continue;
        page_add(self, "%s%lld %s", between, (long long)parts[i].count, parts[i].name);
        between = ", ";
    }
    if (now->parked > 0)
        page_add(self, "; %lld callbacks parked", (long long)now->parked);
    page_end(self);
    page_begin(self, "oldest");
    if (now->oldest_at_ms > 0) {
        page_add(self, "task %s, open for ", now->oldest);
        page_age(self, now->wall_ms - now->oldest_at_ms);
    } else {
        page_add(self, "-");
    }
    page_end(self);
}

static void page_spool(struct page *self, const struct top_look *now)
{
    page_begin(self, "spool");
    if (now->spool_items == 0) {
        page_add(self, "empty");
    } else {
        page_add(self, "%lld callback%s wait%s", (long long)now->spool_items,
                 now->spool_items == 1 ? "" : "s", now->spool_items == 1 ? "s" : "");
        self->tone = TONE_WAIT;
    }
    if (now->spool_items > 0 && now->spool_oldest_ms > 0) {
        page_add(self, ", the oldest for ");
        page_age(self, now->spool_oldest_ms);
    }
    if (now->spool_damaged > 0)
        page_add(self, "; %lld damaged, moved aside", (long long)now->spool_damaged);
    if (now->spool_stuck)
        page_add(self, "; it can NOT be written");
    if (now->spool_damaged > 0 || now->spool_stuck)
        self->tone = TONE_BAD;
    page_end(self);
}

static void page_letters(struct page *self, const struct top_look *now)
{
    const char *between = ": ";
    page_begin(self, "letters");
    page_add(self, "%lld open, %lld held", (long long)now->letters_open,
             (long long)now->letters_held);
    if (now->outbox > 0)
        page_add(self, ", %lld on the way", (long long)now->outbox);
    for (size_t i = 0; i < now->reasons; i++) {
        page_add(self, "%s%lld %s", between, (long long)now->reason[i].count, now->reason[i].name);
        between = ", ";
    }
    if (now->letters_open + now->letters_held > 0 && now->letters_oldest_ms > 0) {
        page_add(self, "; the oldest of ");
        page_age(self, now->letters_oldest_ms);
        page_add(self, " ago");
    }
    self->tone = now->letters_held > 0                 ? TONE_BAD
                 : now->letters_open + now->outbox > 0 ? TONE_WAIT
                                                       : TONE_PLAIN;
    page_end(self);
}

static void page_consumers(struct page *self, const struct top_look *now)
{
    if (!now->consumers_told || now->consumers == 0)
        return;
    page_begin(self, "consumers");
    page_add(self, "%zu", now->consumers);
    if (now->lag > 0)
        page_add(self, "; %s lags behind by %lld events", now->laggard, (long long)now->lag);
    else
        page_add(self, ", none lags behind");
    page_end(self);
}

static void page_provider(struct page *self, const struct top_look *now, size_t at)
{
    const struct top_provider *one = &now->provider[at];
    bool chosen = self->view->keys && at == self->view->chosen;
    char due[AGE_TEXT_MAX] = "-";
    if (one->due_ms > 0 && one->due_ms < now->wall_ms)
        (void)age_text(now->wall_ms - one->due_ms, due);
    (void)snprintf(self->line, sizeof self->line,
                   "%c %-18.18s %-14.14s %6lld %6lld %7lld %5lld %8s  %s", chosen ? '>' : ' ',
                   one->name, one->state, (long long)one->open, (long long)one->queued,
                   (long long)one->polling, (long long)one->late, due, one->budget);
    page_put(self, self->line, one->well ? TONE_PLAIN : TONE_BAD);
}

/* What is to be seen of the list, so that the chosen one is in it. */
static size_t page_first(const struct page *self, const struct top_look *now, size_t room)
{
    size_t chosen = self->view->chosen < now->providers ? self->view->chosen : now->providers - 1;
    if (now->providers <= room || chosen < room)
        return 0;
    return chosen - room + 1;
}

static void page_providers(struct page *self, const struct top_look *now)
{
    unsigned kept = self->view->keys ? 1 : 0;
    unsigned rows = self->view->rows;
    if (now->providers == 0 || !page_room(self, 3))
        return;
    page_put(self, "", TONE_PLAIN);
    (void)snprintf(self->line, sizeof self->line, "  %-18s %-14s %6s %6s %7s %5s %8s  %s",
                   "provider", "state", "open", "queued", "polling", "late", "due for", "budget");
    page_put(self, self->line, TONE_DIM);
    size_t room = rows == 0 ? now->providers : rows - self->used - kept;
    size_t first = page_first(self, now, room);
    for (size_t i = first; i < now->providers && i < first + room; i++)
        page_provider(self, now, i);
}

static void page_help(struct page *self)
{
    static const char *const lines[] = {
        "",
        "q        quit",
        "p        pause: what is shown stays",
        "j, down  the next provider",
        "k, up    the one before",
        "?        this, and back",
        "",
        "Rates are of the time between two looks. callback: results that callbacks brought,",
        "also late ones; poll: those of polls; replay: of dead letters; submit: at once.",
        "'aldaba status' and 'aldaba provider status' say more; 'aldaba dlq ls' lists letters.",
    };
    for (size_t i = 0; i < ALD_COUNT(lines); i++)
        page_put(self, lines[i], TONE_PLAIN);
}

/* The chosen provider's trouble, where there is one. */
static void page_foot(struct page *self, const struct top_look *now)
{
    const struct top_provider *one =
        self->view->chosen < now->providers ? &now->provider[self->view->chosen] : NULL;
    if (!self->view->keys)
        return;
    while (self->view->rows > 0 && page_room(self, 1))
        page_put(self, "", TONE_PLAIN);
    (void)snprintf(self->line, sizeof self->line, "q quit  p pause  j/k choose  ? help");
    if (one != NULL && now->there && !one->well)
        page_add(self, "   %s: %s%s%s", one->name, one->state, one->why[0] ? ", " : "", one->why);
    char cut[PAGE_LINE_MAX];
    (void)snprintf(cut, sizeof cut, "%.*s", (int)page_cut(self->line, page_columns(self)),
                   self->line);
    tone_write(self->out, cut, TONE_DIM, self->view->color);
    self->used++;
}

void top_page(const struct top_view *view, const struct top_look *before,
              const struct top_look *now, struct ald_buf *out)
{
    struct page self = {.view = view, .out = out};
    page_head(&self, now);
    if (view->help) {
        page_help(&self);
    } else if (!now->there) {
        page_begin(&self, "gateway");
        page_add(&self, "does NOT answer: %s", now->why);
        page_put(&self, self.line, TONE_BAD);
        page_begin(&self, "");
        page_add(&self, "asked again each %s; start it, or name another with --url", view->every);
        page_end(&self);
    } else {
        page_services(&self, now);
        if (now->tracker) {
            page_books(&self, now);
            page_rates(&self, before, now);
            page_tasks(&self, now);
        }
        page_spool(&self, now);
        if (now->dlq)
            page_letters(&self, now);
        page_consumers(&self, now);
        page_providers(&self, now);
    }
    page_foot(&self, now);
}

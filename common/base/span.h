/* span.h - bytes that somebody else owns: a pointer and a length. May hold anything, NUL too. */
#ifndef ALD_BASE_SPAN_H
#define ALD_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ald_span {
    const uint8_t *data; /* may be NULL when len is 0 */
    size_t len;
};

static inline struct ald_span ald_span_of(const void *data, size_t len)
{
    return (struct ald_span){.data = data, .len = len};
}

static inline struct ald_span ald_span_str(const char *text)
{
    return ald_span_of(text, strlen(text));
}

static inline bool ald_span_eq(struct ald_span a, struct ald_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool ald_span_eq_str(struct ald_span a, const char *text)
{
    return ald_span_eq(a, ald_span_str(text));
}

static inline bool ald_span_starts(struct ald_span a, const char *prefix)
{
    size_t len = strlen(prefix);
    return len == 0 || (a.len >= len && memcmp(a.data, prefix, len) == 0);
}

/* The rest after n bytes; n may not pass the end. */
static inline struct ald_span ald_span_skip(struct ald_span a, size_t n)
{
    return n == 0 ? a : ald_span_of(a.data + n, a.len - n);
}

/* Where byte first is, or len. */
static inline size_t ald_span_find(struct ald_span a, uint8_t byte)
{
    const uint8_t *at = a.len ? memchr(a.data, byte, a.len) : NULL;
    return at ? (size_t)(at - a.data) : a.len;
}

/* Without space, tab, CR and LF at both ends. */
static inline struct ald_span ald_span_trim(struct ald_span a)
{
    while (a.len > 0 && memchr(" \t\r\n", a.data[0], 4))
        a = ald_span_skip(a, 1);
    while (a.len > 0 && memchr(" \t\r\n", a.data[a.len - 1], 4))
        a.len--;
    return a;
}

#endif

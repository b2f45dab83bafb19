/* record.h - the log of record.c: a head, then the name, then the data, again and again. */
#ifndef ALD_FAULT_RECORD_H
#define ALD_FAULT_RECORD_H

#include <stdint.h>

enum { RECORD_MAGIC = 0x524c4441 };

enum record_kind {
    RECORD_CREATE = 1, /* a file */
    RECORD_FOLDER,     /* a folder was made */
    RECORD_WRITE,      /* data at `at` */
    RECORD_LENGTH,     /* cut or grown to `at` */
    RECORD_UNLINK,
    RECORD_RENAME,      /* data is the new name */
    RECORD_SYNC_BEGINS, /* of a file or a folder; the end is the same thread's */
    RECORD_SYNC_ENDS,
    RECORD_TOLD, /* `at` is a token that a service told another of */
    RECORD_YES   /* `at` is the token that was acknowledged */
};

struct record_head {
    uint32_t magic;
    uint8_t kind;
    uint8_t unused;
    uint16_t name_len;
    uint32_t thread;
    uint32_t data_len;
    uint64_t at;
};

/* What stands behind a token k<number>-, as power.py makes it, too. */
static inline uint64_t record_mixed(uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Are these 16 bytes it, in hexadecimal? */
static inline int record_hex_is(const uint8_t *text, uint64_t x)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        if (text[i] != (uint8_t)digits[x >> (60 - 4 * i) & 15])
            return 0;
    }
    return 1;
}

#endif

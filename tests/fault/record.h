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
    RECORD_YES /* `at` is the token that was acknowledged */
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

#endif

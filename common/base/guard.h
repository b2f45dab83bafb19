/* guard.h - what the compiler and the running program hold for us. */
#ifndef ALD_BASE_GUARD_H
#define ALD_BASE_GUARD_H

#include <stddef.h>

#define ALD_NODISCARD __attribute__((warn_unused_result))
#define ALD_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define ALD_UNUSED __attribute__((unused))
#define ALD_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Destroy a pointer at the end of its scope; destructors take T ** and null it. */
#define ALD_AUTO(destructor) __attribute__((cleanup(destructor)))
/* The destructor of what is one allocation, as tables want it for their items. */
void ald_item_free(void **item_p);

/* A condition that only a bug of ours can break; kept in every build. Never for what a peer, a
 * provider or a user said. */
#define ALD_ASSERT(condition)                                                                      \
    ((condition) ? (void)0 : ald_assert_failed(#condition, __FILE__, __LINE__))

/* Say where on stderr, and abort. */
_Noreturn void ald_assert_failed(const char *condition, const char *file, int line);

#endif

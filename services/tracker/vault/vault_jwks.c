#include "services/tracker/vault/vault_jwks.h"

#include "services/tracker/vault/vault_sql.h"

void vault_jwks_put(struct vault *self, const char *provider, const char *url,
                    int64_t fetched_at_ms, const struct ald_jwks *keys)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO jwks (provider, url, fetched_at_ms, keys) VALUES (?1, ?2, ?3, ?4)"
              " ON CONFLICT (provider) DO UPDATE SET url = ?2, fetched_at_ms = ?3, keys = ?4");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, provider);
    ald_stmt_bind_str(stmt, 2, url);
    ald_stmt_bind_i64(stmt, 3, fetched_at_ms);
    ald_stmt_bind_blob(stmt, 4, ald_jwks_bytes(keys));
    vault_run(self, stmt);
}

bool vault_jwks_find(struct vault *self, const char *provider, const char *url,
                     int64_t *fetched_at_ms, struct ald_jwks *keys)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT fetched_at_ms, keys FROM jwks WHERE provider = ?1 AND url = ?2");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, provider);
    ald_stmt_bind_str(stmt, 2, url);
    bool found = vault_step(self, stmt);
    if (found) {
        *fetched_at_ms = ald_stmt_i64(stmt, 0);
        found = ald_jwks_take(keys, ald_stmt_blob(stmt, 1));
    }
    ald_stmt_reset(stmt);
    return found;
}

// Each callback is a row of SQLite, in a commit of its own that is on disk before the answer.
"use strict";
const Database = require("better-sqlite3");
const { serve, folder } = require("./server.cjs");

const db = new Database(`${folder}/callbacks.db`);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec("CREATE TABLE callbacks(provider TEXT, id TEXT, body TEXT, at INTEGER," +
  " PRIMARY KEY(provider, id)) WITHOUT ROWID");
const insert = db.prepare("INSERT OR IGNORE INTO callbacks VALUES(?, ?, ?, ?)");
const count = db.prepare("SELECT count(*) AS count FROM callbacks");

serve({
  keep(provider, body) {
    insert.run(provider, body.id, JSON.stringify(body), Date.now());
  },
  kept: () => count.get().count,
});

/** A publish as the finder of a damaged entry. SQLite cannot change a check of a column, so the table is made again. */
export const PUBLISH_FINDER_MIGRATION = `
CREATE TABLE damaged_entry_2 (
  channel     TEXT NOT NULL,
  release_id  TEXT NOT NULL,
  destination TEXT NOT NULL COLLATE BINARY,
  blake3      TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('missing', 'size_mismatch', 'digest_mismatch', 'unreadable')),
  found_at    INTEGER NOT NULL,
  found_by    TEXT NOT NULL DEFAULT 'verify'
    CHECK (found_by IN ('server', 'verify', 'refresh', 'repair', 'sync', 'publish', 'boot')),
  PRIMARY KEY (channel, release_id, destination),
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

INSERT INTO damaged_entry_2 (channel, release_id, destination, blake3, status, found_at, found_by)
SELECT channel, release_id, destination, blake3, status, found_at, found_by FROM damaged_entry;

DROP TABLE damaged_entry;

ALTER TABLE damaged_entry_2 RENAME TO damaged_entry;
`;

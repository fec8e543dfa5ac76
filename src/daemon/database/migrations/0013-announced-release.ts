/** The release of a channel that becomes current at a stated time, Unix seconds. */
export const ANNOUNCED_RELEASE_MIGRATION = `
CREATE TABLE announced_release (
  channel    TEXT PRIMARY KEY CHECK (channel IN ('official', 'localized')),
  release_id TEXT NOT NULL,
  current_at INTEGER NOT NULL,
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;
`;

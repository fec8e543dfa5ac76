/**
 * Every place in the write protocol of the store where a crash or an error can be injected, in the order in which a
 * release passes them. A crash at any of them leaves either the previous or the new release published.
 */
export const SNAPSHOT_FAILPOINTS = [
  /** The staged file was found to be what the caller says; nothing is durable yet. */
  'snapshot.object.checked',
  /** The bytes of the object are durable, under the staged name. */
  'snapshot.object.synced',
  'snapshot.blocks.written',
  'snapshot.blocks.synced',
  /** The block list is in place, its object is not. */
  'snapshot.blocks.renamed',
  /** The object is in place; its name is not durable yet. */
  'snapshot.object.renamed',
  /** One of the touched directories is durable. */
  'snapshot.flush.directory',
  'snapshot.manifest.written',
  'snapshot.manifest.synced',
  'snapshot.manifest.renamed',
  'snapshot.manifest.durable',
  'snapshot.record.written',
  'snapshot.record.synced',
  'snapshot.record.renamed',
  'snapshot.history.written',
  'snapshot.history.synced',
  'snapshot.history.renamed',
  'snapshot.attestation.written',
  'snapshot.attestation.synced',
  'snapshot.attestation.renamed',
  /** The new attestation is durable; old ones are still there. */
  'snapshot.attestation.durable',
] as const;

export type SnapshotFailpoint = (typeof SNAPSHOT_FAILPOINTS)[number];

/** A staging directory has its name of a leftover; its files are still there. No release depends on this step. */
export const STAGING_FAILPOINT = 'snapshot.staging.renamed';

import { closeSync, openSync } from 'node:fs';
import { manifestDigestOf, type SnapshotId } from '../../domain/release/digest.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import type { CallContext } from '../../platform/threads/serve.ts';
import { checkObjects, type MissingObjects } from './check-objects.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { manifestPath } from '../volume/layout.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';
import { columnBuffers, createManifestIndex, type ManifestColumns } from './manifest-index.ts';
import { parseManifestFile } from './manifest-parser.ts';
import { messageOf } from '../../platform/errors.ts';

/** A manifest to load. */
interface ManifestJob {
  readonly root: string;
  readonly snapshotId: SnapshotId;
  readonly checkObjects: boolean;
  /** Of the hash table, so that nobody can choose destinations that collide. */
  readonly seed: number;
}

/** The result of a {@link ManifestJob}; a manifest that cannot be used is a result, not an error. */
type ManifestOutcome =
  | { readonly kind: 'loaded'; readonly columns: ManifestColumns; readonly missing: MissingObjects | null }
  | { readonly kind: SnapshotFault['kind']; readonly message: string };

/** Loads manifests. */
export interface ManifestStore {
  /** @throws the file system error */
  load(job: ManifestJob, context: CallContext): ManifestOutcome;
}

export function createStore(): ManifestStore {
  return {
    load: (job, { transfer }) => {
      try {
        const columns = readColumns(job);
        transfer(...columnBuffers(columns));
        const missing = job.checkObjects ? checkObjects(job.root, createManifestIndex(columns)) : null;
        return { kind: 'loaded', columns, missing };
      } catch (error) {
        if (error instanceof SnapshotFault) return { kind: error.kind, message: error.message };
        throw error;
      }
    },
  };
}

function readColumns({ root, snapshotId, seed }: ManifestJob): ManifestColumns {
  const digest = manifestDigestOf(snapshotId);
  if (digest === null) throw new SnapshotFault('damaged', snapshotId, `not a snapshot id: ${snapshotId}`);
  let fd: number;
  try {
    fd = openSync(manifestPath(root, digest), OPEN_REGULAR);
  } catch (error) {
    const code = errorCode(error);
    const message = messageOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new SnapshotFault('missing', snapshotId, message);
    if (code === 'ELOOP' || code === 'ENXIO' || code === 'EISDIR') {
      throw new SnapshotFault('damaged', snapshotId, `the manifest is not a regular file: ${message}`);
    }
    throw error;
  }
  try {
    return parseManifestFile(fd, snapshotId, seed);
  } finally {
    closeSync(fd);
  }
}

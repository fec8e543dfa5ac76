import { closeSync, openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { manifestDigestOf } from '../../domain/release/digest.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { manifestPath } from '../volume/layout.ts';
import { columnBuffers, createManifestIndex, type ManifestColumns } from './manifest-index.ts';
import type { ManifestWorkerAnswer, ManifestWorkerInput } from './manifest-loader.ts';
import { parseManifestFile } from './manifest-parser.ts';
import { checkObjects } from '../objects/object-check.ts';
import { OPEN_REGULAR } from '../objects/object-reader.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';

// Runs in a worker thread: loads one manifest, answers once, ends.

function load(input: ManifestWorkerInput): ManifestWorkerAnswer {
  try {
    const columns = readColumns(input);
    const missing = input.checkObjects ? checkObjects(input.root, createManifestIndex(columns)) : null;
    return { kind: 'loaded', columns, missing };
  } catch (error) {
    if (error instanceof SnapshotFault) return { kind: error.kind, message: error.message };
    return {
      kind: 'failed',
      code: errorCode(error),
      message: error instanceof Error ? error.message : String(error),
    };
  }
}

function readColumns({ root, snapshotId, seed }: ManifestWorkerInput): ManifestColumns {
  const digest = manifestDigestOf(snapshotId);
  if (digest === null) throw new SnapshotFault('damaged', snapshotId, `no snapshot id: ${snapshotId}`);
  let fd: number;
  try {
    fd = openSync(manifestPath(root, digest), OPEN_REGULAR);
  } catch (error) {
    const code = errorCode(error);
    const message = error instanceof Error ? error.message : String(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new SnapshotFault('missing', snapshotId, message);
    if (code === 'ELOOP' || code === 'ENXIO' || code === 'EISDIR') {
      throw new SnapshotFault('damaged', snapshotId, `the manifest is no regular file: ${message}`);
    }
    throw error;
  }
  try {
    return parseManifestFile(fd, snapshotId, seed);
  } finally {
    closeSync(fd);
  }
}

const answer = load(workerData as ManifestWorkerInput);
const transfer =
  answer.kind === 'loaded'
    ? [...columnBuffers(answer.columns), ...(answer.missing === null ? [] : [answer.missing.indexes.buffer])]
    : [];
parentPort?.postMessage(answer, transfer);

import { readdir } from 'node:fs/promises';
import {
  parseReleaseRecord,
  RELEASE_RECORD_MAX_BYTES,
  renderReleaseRecord,
  type ReleaseRecord,
} from '../../contract/formats/release-record.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { fsyncDirectory, readBoundedFile, writeFileDurably } from '../../platform/files/files.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { releaseDirectory, releaseRecordPath } from './layout.ts';
import { durableSteps, type WriteSteps } from './write-steps.ts';
import { rm } from '../../platform/files/file-changes.ts';

/** A release record that is on the volume cannot be used, or would have to change. */
export class ReleaseRecordError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ReleaseRecordError';
  }
}

/**
 * Writes a record durably. Writing the same record again does nothing.
 *
 * @throws ReleaseRecordError when another record of this name is there, since records never change; the file system error
 */
export async function writeReleaseRecord(
  root: string,
  record: ReleaseRecord,
  steps: WriteSteps,
): Promise<void> {
  const path = releaseRecordPath(root, record.channel, record.release_id);
  const bytes = renderReleaseRecord(record);
  const present = await readIfThere(path);
  if (present === null) {
    await writeFileDurably(path, bytes, durableSteps(steps, 'snapshot.record'), 0o444);
  } else if (present.toString('utf8') !== bytes) {
    throw new ReleaseRecordError(`${path} exists with other content; a release record never changes`);
  }
}

/**
 * Reads a record, or `null` when there is none.
 *
 * @throws ReleaseRecordError when it is damaged or of another release; the file system error
 */
export async function readReleaseRecord(
  root: string,
  channel: Channel,
  releaseId: ReleaseId,
): Promise<ReleaseRecord | null> {
  const path = releaseRecordPath(root, channel, releaseId);
  const bytes = await readIfThere(path);
  if (bytes === null) return null;
  const parsed = parseReleaseRecord(bytes.toString('utf8'));
  if (!parsed.ok) throw new ReleaseRecordError(`${path}: ${parsed.error}`);
  if (parsed.value.channel !== channel || parsed.value.release_id !== releaseId) {
    throw new ReleaseRecordError(
      `${path} is the record of ${parsed.value.channel} ${parsed.value.release_id}`,
    );
  }
  return parsed.value;
}

/**
 * Every record of a channel that is there.
 *
 * @throws ReleaseRecordError at the first that is damaged; the file system error
 */
export async function listReleaseRecords(root: string, channel: Channel): Promise<ReleaseRecord[]> {
  const found: ReleaseRecord[] = [];
  for (const releaseId of await listReleaseIds(root, channel)) {
    const record = await readReleaseRecord(root, channel, releaseId);
    if (record !== null) found.push(record);
  }
  return found;
}

/** The ids of all records of a channel, in ASCII order. Whether they can be read is for {@link readReleaseRecord}. */
export async function listReleaseIds(root: string, channel: Channel): Promise<ReleaseId[]> {
  const ids: ReleaseId[] = [];
  for (const name of await namesIn(releaseDirectory(root, channel))) {
    const id = name.endsWith('.json') ? parseReleaseId(name.slice(0, -'.json'.length)) : null;
    if (id?.ok === true) ids.push(id.value);
  }
  return ids.sort();
}

/** Removes a record durably; does nothing when there is none. */
export async function removeReleaseRecord(
  root: string,
  channel: Channel,
  releaseId: ReleaseId,
): Promise<void> {
  await rm(releaseRecordPath(root, channel, releaseId), { force: true, recursive: true });
  await fsyncDirectory(releaseDirectory(root, channel));
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readBoundedFile(path, RELEASE_RECORD_MAX_BYTES);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

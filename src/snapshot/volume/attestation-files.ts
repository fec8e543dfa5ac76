import { readdir } from 'node:fs/promises';
import { readBoundedFile, writeFileDurably } from '../../platform/files/files.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { attestationHistoryDirectory, attestationHistoryPath, attestationPath } from './layout.ts';
import { setAside } from './store-directories.ts';
import { durableSteps, type WriteSteps } from './write-steps.ts';
import { rm } from '../../platform/files/file-changes.ts';

export const ATTESTATION_HISTORY = 32;

/** Longest envelope, in bytes. */
export const ATTESTATION_MAX_BYTES = 1024 * 1024;

/**
 * Publishes an envelope: first into the history, then over `current.json`, each durable before the next. So the newest
 * file of the history is never older than what readers see.
 *
 * @param version the version of the statement, a positive integer
 * @throws the file system error
 */
export async function publishAttestation(
  root: string,
  envelope: Uint8Array,
  version: number,
  steps: WriteSteps,
): Promise<void> {
  if (!Number.isSafeInteger(version) || version < 0)
    throw new RangeError(`not an attestation version: ${version}`);
  if (envelope.length > ATTESTATION_MAX_BYTES) {
    throw new RangeError(
      `an envelope has at most ${ATTESTATION_MAX_BYTES} bytes, this one has ${envelope.length}`,
    );
  }
  const history = attestationHistoryPath(root, version);
  await writeFileDurably(history, envelope, durableSteps(steps, 'snapshot.history'));
  const writeCurrent = async (): Promise<void> => {
    await writeFileDurably(attestationPath(root), envelope, durableSteps(steps, 'snapshot.attestation'));
  };
  await writeCurrent().catch(async (error: unknown) => {
    if (errorCode(error) !== 'EISDIR') throw error;
    await setAside(root, attestationPath(root));
    await writeCurrent();
  });
  steps.passed('snapshot.attestation.durable');
  for (const old of (await listAttestationVersions(root)).slice(ATTESTATION_HISTORY)) {
    await rm(attestationHistoryPath(root, old), { force: true, recursive: true });
  }
}

/** The bytes of `current.json`, or `null` when nothing was published yet; empty when it cannot be an envelope. */
export async function readCurrentAttestation(root: string): Promise<Buffer | null> {
  return await readEnvelope(attestationPath(root));
}

/** The bytes of one envelope of the history, or `null`; empty when it cannot be an envelope. */
export async function readAttestation(root: string, version: number): Promise<Buffer | null> {
  return await readEnvelope(attestationHistoryPath(root, version));
}

export async function listAttestationVersions(root: string): Promise<number[]> {
  const versions: number[] = [];
  for (const name of await readdir(attestationHistoryDirectory(root))) {
    const version = /^(0|[1-9][0-9]{0,15})\.json$/.exec(name)?.[1];
    if (version !== undefined) versions.push(Number(version));
  }
  return versions.sort((left, right) => right - left);
}

async function readEnvelope(path: string): Promise<Buffer | null> {
  try {
    return await readBoundedFile(path, ATTESTATION_MAX_BYTES);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return null;
    // Without a code it is too long or no regular file: damaged, as other bytes would be.
    if (code === null || code === 'ELOOP') return Buffer.alloc(0);
    throw error;
  }
}

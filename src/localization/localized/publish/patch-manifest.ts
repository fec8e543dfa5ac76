import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import { releaseId } from '../../../contract/actions/field-schemas.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { parseDestination, type Destination } from '../../../domain/release/destination.ts';
import { isBlake3Hex, type Blake3Hex } from '../../../domain/release/digest.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import { messageOf } from '../../../platform/errors.ts';
import { findBelowRoot } from '../../../platform/files/below-root.ts';
import { FileTooLargeError, readBoundedFile } from '../../../platform/files/files.ts';
import { TaskError } from '../../../engine/tasks/task.ts';

const MANIFEST_MAX_BYTES = 32 * 1024 * 1024;
const ENTRIES_MAX = 100_000;

export interface PatchedFile {
  readonly destination: Destination;
  /** Relative to the root of patches. */
  readonly file: string;
  readonly blake3: Blake3Hex;
  readonly size: number;
}

export interface PatchManifest {
  readonly baseReleaseId: ReleaseId;
  readonly entries: readonly PatchedFile[];
}

const PatchManifestSchema = z.strictObject({
  base_release_id: releaseId,
  entries: z
    .array(
      z.strictObject({
        destination: z.string().transform((text, context): Destination => {
          const parsed = parseDestination(text);
          if (parsed.ok) return parsed.value;
          context.addIssue({ code: 'custom', message: parsed.error });
          return z.NEVER;
        }),
        file: z.string().min(1).max(4096),
        blake3: z.string().refine(isBlake3Hex, { error: 'must be 64 lower-case hexadecimal digits' }),
        size: z.int().min(0),
      }),
    )
    .min(1, { error: 'must name at least one file' })
    .max(ENTRIES_MAX, { error: `must not name more than ${ENTRIES_MAX} files` }),
});

/**
 * Reads a patch manifest.
 *
 * @param root the folder of patches
 * @param path of the manifest, relative to the root
 * @throws ServiceError `invalid_path`, `file_not_found`; TaskError `patch_manifest_invalid`; the file system error
 */
export async function readPatchManifest(root: string, path: string): Promise<PatchManifest> {
  const bytes = await readManifestFile(root, path);
  let value: unknown;
  try {
    value = parseJsonExact(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw invalid(path, `it is not valid JSON: ${messageOf(error)}`);
  }
  const parsed = PatchManifestSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(path, `/${issue?.path.map(String).join('/') ?? ''} ${issue?.message ?? 'is not valid'}`);
  }
  const { base_release_id: baseReleaseId, entries } = parsed.data;
  const seen = new Set<string>();
  for (const { destination } of entries) {
    if (seen.has(destination)) throw invalid(path, `${JSON.stringify(destination)} is listed twice`);
    seen.add(destination);
  }
  return { baseReleaseId, entries };
}

async function readManifestFile(root: string, path: string): Promise<Buffer> {
  try {
    return await readBoundedFile(await findPatchFile(root, path), MANIFEST_MAX_BYTES);
  } catch (error) {
    if (!(error instanceof FileTooLargeError)) throw error;
    throw invalid(path, `it is larger than ${MANIFEST_MAX_BYTES} bytes`);
  }
}

/**
 * Finds a file below the folder of patches. A symbolic link is refused even when it stays inside: it can be changed while
 * the file is read.
 *
 * @returns the real path
 * @throws ServiceError `invalid_path`, `file_not_found`; the file system error
 */
export async function findPatchFile(root: string, path: string): Promise<string> {
  const found = await findBelowRoot(root, path);
  if (found === null) {
    throw new ServiceError('file_not_found', `the folder of patches has no file "${path}"`);
  }
  if (found === join(await realpath(root), path)) return found;
  throw new ServiceError(
    'invalid_path',
    `the path "${path}" cannot be used: a part of it is a symbolic link`,
  );
}

function invalid(path: string, why: string): TaskError {
  return new TaskError('patch_manifest_invalid', `the patch manifest "${path}" cannot be used: ${why}`);
}

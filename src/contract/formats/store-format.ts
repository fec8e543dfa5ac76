import { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import { STORE_FORMAT_FILE } from './store-format-file.ts';

const FORMAT_NAME = 'slipway-snapshot-store';

/** The version of the layout that this program reads and writes. */
export const STORE_FORMAT_VERSION = 2;

/** Longest FORMAT file, in bytes. */
export const STORE_FORMAT_MAX_BYTES = 4096;

const schema = z.strictObject({
  format: z.literal(FORMAT_NAME),
  version: z.literal(STORE_FORMAT_VERSION),
  /** A UUID where this program made the store. */
  store_id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'is not a store id'),
});

/** Content of FORMAT: the layout of the volume, and the id of the store. An attestation names one store id. */
export type StoreFormat = Readonly<z.infer<typeof schema>>;

/** The bytes of FORMAT for a new store with this id (a UUID). */
export function renderStoreFormat(storeId: string): string {
  return `${JSON.stringify({ format: FORMAT_NAME, version: STORE_FORMAT_VERSION, store_id: storeId })}\n`;
}

/** Parses FORMAT. @returns what it says, or one sentence that says why this version cannot use the volume */
export function parseStoreFormat(text: string): Result<StoreFormat, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failure(`${STORE_FORMAT_FILE} is not JSON: this is not a snapshot store, or the file is damaged`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return success(parsed.data);
  const other = otherVersion.safeParse(value);
  if (other.success) {
    return failure(
      `${STORE_FORMAT_FILE} is of version ${other.data.version}, and this program uses version ${STORE_FORMAT_VERSION}: give the snapshot store an empty directory and sync again, or use the program that made the volume`,
    );
  }
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'document'}: ${issue.message}`,
  );
  return failure(
    `${STORE_FORMAT_FILE} does not describe a snapshot store of version ${STORE_FORMAT_VERSION} (${problems.join('; ')})`,
  );
}

/** FORMAT as another version writes it, which {@link parseStoreFormat} refuses although it is not damaged. */
const otherVersion = z.looseObject({
  format: z.literal(FORMAT_NAME),
  version: z.int().refine((version) => version !== STORE_FORMAT_VERSION),
});

/** Whether the text says nothing: it is neither FORMAT of this version nor of another one. */
export function isStoreFormatDamaged(text: string): boolean {
  if (parseStoreFormat(text).ok) return false;
  try {
    return !otherVersion.safeParse(JSON.parse(text)).success;
  } catch {
    return true;
  }
}

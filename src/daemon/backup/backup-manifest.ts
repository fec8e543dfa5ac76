import { join } from 'node:path';
import { z } from 'zod';
import { failure, success, type Result } from '../../domain/result.ts';
import { messageOf } from '../../platform/errors.ts';
import { readBoundedFile } from '../../platform/files/files.ts';

/** The file of a backup that describes the others. It is written last, so a folder without it is not a backup. */
export const MANIFEST_FILE = 'backup.json';

const MAX_BYTES = 64 * 1024;
const MAX_DATABASES = 16;
/** Longest reason, in characters, that a manifest holds. */
export const MAX_REASON = 1000;

const name = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/);

const manifestSchema = z.strictObject({
  format: z.literal('slipway-backup/1'),
  /** Unix seconds. */
  created_at: z.int().min(0),
  /** The copies. `file` is the name of the copy and of the database in `data.dir`. */
  databases: z
    .array(
      z.strictObject({
        name,
        file: z.string().regex(/^[a-z][a-z0-9-]{0,31}\.db$/),
        bytes: z.int().min(0),
        blake3: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1)
    .max(MAX_DATABASES)
    .refine((rows) => new Set(rows.map(({ file }) => file)).size === rows.length, 'a file occurs twice')
    .refine((rows) => new Set(rows.map((row) => row.name)).size === rows.length, 'a name occurs twice'),
  /** Databases without a file, because nobody had used them yet. */
  missing: z.array(name).max(MAX_DATABASES),
  /** Databases that could not be copied. */
  failed: z.array(z.strictObject({ name, reason: z.string().max(MAX_REASON) })).max(MAX_DATABASES),
});

/** The description of one backup. */
export type BackupManifest = z.output<typeof manifestSchema>;

/** One copy of a backup. */
export type BackupCopy = BackupManifest['databases'][number];

/** The text of a manifest. */
export function renderManifest(manifest: BackupManifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * Reads the manifest of a backup.
 *
 * @param folder the folder of the backup
 * @returns one sentence for a manifest that is missing or damaged
 */
export async function readManifest(folder: string): Promise<Result<BackupManifest, string>> {
  const path = join(folder, MANIFEST_FILE);
  try {
    const parsed = manifestSchema.safeParse(
      JSON.parse((await readBoundedFile(path, MAX_BYTES)).toString('utf8')),
    );
    if (parsed.success) return success(parsed.data);
    const [issue] = parsed.error.issues;
    return failure(`${path} is damaged: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}`);
  } catch (error) {
    return failure(`${path} cannot be read: ${messageOf(error)}`);
  }
}

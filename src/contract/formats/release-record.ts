import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import { MANIFEST_MAX_ENTRIES } from '../../domain/release/manifest.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { blake3, releaseId, snapshotId } from './release-fields.ts';

/** Longest release record, in bytes. */
export const RELEASE_RECORD_MAX_BYTES = 16 * 1024;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const schema = z
  .strictObject({
    format: z.literal('slipway-release'),
    version: z.literal(1),
    channel: z.enum(CHANNELS),
    release_id: releaseId,
    /** The name that upstream gave it; absent if that is `release_id`. */
    upstream_release_id: releaseId.optional(),
    /** Only localized: the official release it was made from. */
    base_release_id: releaseId.optional(),
    snapshot_id: snapshotId,
    manifest: z.strictObject({
      blake3,
      /** SHA-256 of the same bytes, lower-case hexadecimal, for tools without BLAKE3. */
      sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
      entry_count: count.max(MANIFEST_MAX_ENTRIES),
      total_bytes: count,
    }),
    /** BLAKE3 over what the manifest says apart from the name of the release. */
    content_digest: blake3.optional(),
    app_version: z.string().min(1).max(256).optional(),
    /** Unix seconds at which the release was registered. */
    created_at: count,
  })
  .refine((record) => record.snapshot_id === `blake3:${record.manifest.blake3}`, {
    path: ['snapshot_id'],
    message: 'does not name the digest of the manifest',
  });

/** An immutable record of one release: `releases/<channel>/<release_id>.json`. */
export type ReleaseRecord = Readonly<z.infer<typeof schema>>;

/** The bytes of a record file; the same record always gives the same bytes. Throws for a record that is not valid. */
export function renderReleaseRecord(record: ReleaseRecord): string {
  return `${JSON.stringify(schema.parse(record), null, 2)}\n`;
}

/** Parses a release record. @returns the record, or one sentence that names every problem */
export function parseReleaseRecord(text: string): Result<ReleaseRecord, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failure('the release record is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return success(parsed.data);
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'document'}: ${issue.message}`,
  );
  return failure(`the release record is not valid (${problems.join('; ')})`);
}

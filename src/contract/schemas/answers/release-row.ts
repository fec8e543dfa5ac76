import { z } from 'zod';
import { RELEASE_STATES } from '../vocabulary.ts';
import { Blake3Schema, ChannelSchema, Count, ReleaseIdSchema, UnixSeconds } from './common.ts';

/** One release of the history. */
export const ReleaseRowSchema = z
  .object({
    release_id: ReleaseIdSchema,
    channel: ChannelSchema,
    state: z.enum(RELEASE_STATES),
    created_at: UnixSeconds,
    published_at: UnixSeconds.nullable().describe('When it last became current; Unix seconds.'),
    base_release_id: ReleaseIdSchema.describe('Only for localized releases.').optional(),
    stale: z
      .boolean()
      .describe(
        'Only for localized releases: whether the official release is another one than the base. A stale release is not distributed as the current one.',
      )
      .optional(),
    manifest: z
      .object({ blake3: Blake3Schema, entry_count: Count, total_bytes: Count })
      .nullable()
      .describe('Null while the release is being built.'),
    artifact_integrity: z
      .object({
        checked_at: UnixSeconds.nullable(),
        ok: z.boolean(),
        damaged: Count.describe('Entries that are known to be missing or damaged.'),
        damaged_examples: z.array(z.string()).describe('Destinations of the first of them.').optional(),
      })
      .describe('The last full verification of the bytes.'),
  })
  .describe('One release, past or present.');

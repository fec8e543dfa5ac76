import { z } from 'zod';
import {
  Blake3Schema,
  ChannelSchema,
  Count,
  ReleaseIdSchema,
  SnapshotIdSchema,
  UnixSeconds,
} from './common.ts';
import { ReleaseSummarySchema } from './release.ts';
import { VerdictSchema } from './verdict.ts';

/** One entry of a resource manifest. */
export const ManifestEntrySchema = z
  .object({
    destination: z.string().describe('Release-relative path.'),
    size: Count.describe('Bytes.'),
    blake3: Blake3Schema,
    crc64: z
      .string()
      .regex(/^[0-9]{1,20}$/)
      .describe('CRC-64/XZ as an unsigned decimal string.'),
    source: ChannelSchema.describe('Where the bytes come from.'),
    media_type: z.string(),
    blocks: Blake3Schema.describe(
      'BLAKE3 of the list of block digests, for entries beyond 1 MiB.',
    ).optional(),
  })
  .describe('One resource of a release.');

/** One page of a resource manifest. */
export const ResourcesAnswer = {
  schema: z.object({
    release_id: ReleaseIdSchema,
    channel: ChannelSchema,
    snapshot_id: SnapshotIdSchema.describe('Changes between pages if the release was switched.'),
    total: Count.describe('Entries of the whole release.'),
    offset: Count,
    limit: z.int().min(1).max(1000),
    next_offset: Count.nullable().describe('Offset of the next page; null on the last.'),
    items: z.array(ManifestEntrySchema).describe('In byte order of `destination`.'),
  }),
};

export type ResourcesPage = z.infer<typeof ResourcesAnswer.schema>;

const DocumentSchema = z.object({ blake3: Blake3Schema, size: Count });

const ManifestHeaderSchema = z
  .object({
    format: z.literal('slipway-manifest'),
    version: z.literal(1),
    channel: ChannelSchema,
    release_id: ReleaseIdSchema,
    base_release_id: ReleaseIdSchema.optional(),
    entry_count: Count,
    total_bytes: Count,
    server_info: DocumentSchema.optional(),
    app_version: z.string().optional(),
  })
  .describe('Line 1 of the manifest; the items of all pages are its other lines.');

/** `/v1/distribution`. */
export const DistributionAnswer = {
  schema: ResourcesAnswer.schema.extend({
    since: SnapshotIdSchema.describe(
      'Only in a page of a difference: the snapshot from which this release differs by `items` and `removed`. `total` and the offsets count these.',
    ).optional(),
    removed: z
      .array(z.string())
      .describe(
        'Only with `since`: the destinations of this page that the release no longer has, in byte order.',
      )
      .optional(),
    release: ReleaseSummarySchema,
    distribution: VerdictSchema,
    header: ManifestHeaderSchema.optional().describe(
      'Only on the first page: line 1 of the manifest, whose BLAKE3 is `snapshot_id`.',
    ),
    server_info: z
      .string()
      .nullable()
      .describe(
        'Only on the first page: the server-info document as upstream published it; null without one.',
      )
      .optional(),
    revalidated: z
      .object({
        destination: z.string(),
        size: Count,
        blake3: Blake3Schema,
        verified_at: UnixSeconds,
      })
      .describe('Only with `destination`: the entry as just read from disk and verified.')
      .optional(),
  }),
};

export type Distribution = z.infer<typeof DistributionAnswer.schema>;

/** `/v1/server-info`: the upstream's document, every catalog root rewritten, all else as it is. */
export const ServerInfoAnswer = {
  schema: z
    .looseObject({})
    .describe('The upstream document; every `AddressablesCatalogUrlRoot` points at this service.'),
};

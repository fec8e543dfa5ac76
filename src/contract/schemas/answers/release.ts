import { z } from 'zod';
import { ChannelSchema, Count, ReleaseIdSchema, SnapshotIdSchema, UnixSeconds } from './common.ts';
import { ReleaseRowSchema } from './release-row.ts';
import { VerdictSchema } from './verdict.ts';

/** Data about a served release, from the attestation and the manifest. */
export const ReleaseSummarySchema = z
  .object({
    release_id: ReleaseIdSchema,
    channel: ChannelSchema,
    snapshot_id: SnapshotIdSchema,
    entry_count: Count,
    total_bytes: Count,
    created_at: UnixSeconds,
    verified_at: UnixSeconds,
    verification: z.literal('full'),
    attestation_version: z.int().min(1),
    expires_at: UnixSeconds.describe('When the attestation expires; Unix seconds.'),
    base_release_id: ReleaseIdSchema.describe(
      'The official release a localized one was made from.',
    ).optional(),
    app_version: z.string().describe('The version that clients show.').optional(),
  })
  .describe('A served release.');

export type ReleaseSummary = z.infer<typeof ReleaseSummarySchema>;

const SignedEnvelopeSchema = z
  .object({
    payloadType: z.string(),
    payload: z.string().describe('Base64 of an in-toto statement: the exact bytes that were signed.'),
    signatures: z.array(z.object({ keyid: z.string().optional(), sig: z.string() })),
  })
  .describe('A DSSE envelope as the daemon signed it; it names the releases of both channels.');

/** A release whose bytes are served, and which becomes current at a stated time. */
const AnnouncedSchema = z
  .object({
    release_id: ReleaseIdSchema,
    channel: ChannelSchema,
    snapshot_id: SnapshotIdSchema,
    entry_count: Count,
    total_bytes: Count,
    current_at: UnixSeconds.describe('When it becomes the current release; Unix seconds.'),
  })
  .describe('A release whose bytes are served under its own path and that becomes current at a stated time.');

/** `/v1/release`. */
export const ReleaseAnswer = {
  schema: z.object({
    release: ReleaseSummarySchema.nullable().describe('Null if no release is bound.'),
    distribution: VerdictSchema,
    announced: AnnouncedSchema.nullable().describe(
      'The announced official release, as the attestation states it; null if there is none.',
    ),
    cdn_host: z.string().describe('The fixed first path segment of the CDN route.'),
    attestation: SignedEnvelopeSchema.nullable().describe(
      'The newest accepted attestation, for readers that trust its key and not this server; null if there is none.',
    ),
  }),
};

export type ReleaseBody = z.infer<typeof ReleaseAnswer.schema>;

/** `/v1/releases`. */
export const ReleasesAnswer = { schema: z.object({ total: Count, releases: z.array(ReleaseRowSchema) }) };

export type ReleasesBody = z.infer<typeof ReleasesAnswer.schema>;

/** `/v1/bootstrap`. */
export const BootstrapAnswer = {
  schema: z.object({
    service: z.object({ name: z.string(), version: z.string() }),
    public_base_url: z.url(),
    cdn: z.object({
      host: z.string().describe('The fixed first path segment of the CDN route.'),
      root: z.url().describe('Root of this release; a destination below it is immutable.'),
      release_path: z.string().describe('Path of the release below the public base URL.'),
      current_path: z.string().describe('Path of the current release; it does not change with the release.'),
    }),
    release: ReleaseSummarySchema,
    distribution: VerdictSchema,
    links: z.object({
      resources: z.url(),
      distribution: z.url(),
      server_info: z.url(),
      launcher_bootstrap: z.url(),
      openapi: z.url(),
    }),
  }),
};

export type Bootstrap = z.infer<typeof BootstrapAnswer.schema>;

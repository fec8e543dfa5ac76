import { z } from 'zod';
import { answer } from './answer.ts';
import { ChannelSchema, Count, EXAMPLE, ReleaseIdSchema, SnapshotIdSchema, UnixSeconds } from './common.ts';
import { RELEASE_ROW_EXAMPLE, ReleaseRowSchema } from './release-row.ts';
import { VERDICT_EXAMPLE, VerdictSchema } from './verdict.ts';

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

/** A release summary, for examples. */
export const RELEASE_SUMMARY_EXAMPLE: z.input<typeof ReleaseSummarySchema> = {
  release_id: EXAMPLE.releaseId,
  channel: 'official',
  snapshot_id: EXAMPLE.snapshotId,
  entry_count: 8123,
  total_bytes: 6_442_450_944,
  created_at: EXAMPLE.at - 86_400,
  verified_at: EXAMPLE.at - 3600,
  verification: 'full',
  attestation_version: 1042,
  expires_at: EXAMPLE.at + 600,
  app_version: '1.66.405117',
};

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
export const ReleaseAnswer = answer(
  z.object({
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
  {
    release: RELEASE_SUMMARY_EXAMPLE,
    distribution: VERDICT_EXAMPLE,
    announced: null,
    cdn_host: 'cdn.example.net',
    attestation: {
      payloadType: 'application/vnd.in-toto+json',
      payload: 'eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==',
      signatures: [{ keyid: EXAMPLE.blake3, sig: 'c2lnbmF0dXJl' }],
    },
  },
);

export type ReleaseBody = z.infer<typeof ReleaseAnswer.schema>;

/** `/v1/releases`. */
export const ReleasesAnswer = answer(z.object({ total: Count, releases: z.array(ReleaseRowSchema) }), {
  total: 1,
  releases: [RELEASE_ROW_EXAMPLE],
});

export type ReleasesBody = z.infer<typeof ReleasesAnswer.schema>;

/** `/v1/bootstrap`. */
export const BootstrapAnswer = answer(
  z.object({
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
  {
    service: { name: 'slipway', version: '0.1.0' },
    public_base_url: 'https://resources.example.org',
    cdn: {
      host: 'cdn.example.net',
      root: `https://resources.example.org/cdn.example.net/${EXAMPLE.releaseId}`,
      release_path: `/cdn.example.net/${EXAMPLE.releaseId}`,
      current_path: '/cdn.example.net',
    },
    release: RELEASE_SUMMARY_EXAMPLE,
    distribution: VERDICT_EXAMPLE,
    links: {
      resources: 'https://resources.example.org/v1/resources',
      distribution: 'https://resources.example.org/v1/distribution',
      server_info: 'https://resources.example.org/v1/server-info',
      launcher_bootstrap: 'https://resources.example.org/v1/launcher/bootstrap',
      openapi: 'https://resources.example.org/openapi.yaml',
    },
  },
);

export type Bootstrap = z.infer<typeof BootstrapAnswer.schema>;

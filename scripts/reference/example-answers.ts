import type { z } from 'zod';
import type { Answer } from '../../src/contract/operations/operation-definition.ts';
import { AdminIndexAnswer, AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import {
  ResourcesAnswer,
  DistributionAnswer,
  ServerInfoAnswer,
} from '../../src/contract/schemas/answers/distribution.ts';
import { HealthAnswer } from '../../src/contract/schemas/answers/health.ts';
import {
  LauncherBootstrapAnswer,
  LauncherGameConfigAnswer,
  LauncherConfigJsonAnswer,
  LauncherCdnAnswer,
} from '../../src/contract/schemas/answers/launcher.ts';
import {
  ReleaseAnswer,
  ReleasesAnswer,
  BootstrapAnswer,
  type ReleaseSummarySchema,
} from '../../src/contract/schemas/answers/release.ts';
import { ReadinessAnswer, type VerdictSchema } from '../../src/contract/schemas/answers/verdict.ts';
import { type ReleaseRowSchema } from '../../src/contract/schemas/answers/release-row.ts';
import { type ServiceAnswerSchema } from '../../src/contract/schemas/answers/service-state.ts';
import { EXAMPLE } from './example-values.ts';

/** A distributable verdict, for examples. */
export const VERDICT_EXAMPLE: z.input<typeof VerdictSchema> = {
  channel: 'official',
  distributable: true,
  reason: null,
  message: `release ${EXAMPLE.releaseId} is attested and fully represented`,
  since: EXAMPLE.at,
  release_id: EXAMPLE.releaseId,
  snapshot_id: EXAMPLE.snapshotId,
  attestation: { version: 1042, issued_at: EXAMPLE.at, expires_at: EXAMPLE.at + 600 },
};

/** A verdict that is not distributable, for a readiness of 503. */
export const UNREADY_EXAMPLE: z.input<typeof ReadinessAnswer.schema> = {
  ...VERDICT_EXAMPLE,
  distributable: false,
  reason: 'AttestationExpired',
  message: 'the last accepted attestation expired at 2025-11-21T00:10:00Z',
};

const HEALTHY: z.input<typeof ServiceAnswerSchema>['channels']['official'] = {
  state: 'healthy',
  reason: null,
  message: `release ${EXAMPLE.releaseId} is attested and fully represented`,
  since: EXAMPLE.at,
  next_step: null,
  caused: [],
};

/** A healthy service, for examples. */
export const SERVICE_EXAMPLE: z.input<typeof ServiceAnswerSchema> = {
  ...HEALTHY,
  channels: {
    official: HEALTHY,
    localized: {
      state: 'unpublished',
      reason: 'NothingPublished',
      message: 'no localized release is published',
      since: EXAMPLE.at,
      next_step: {
        text: 'Publish a localized release when its translations are ready.',
        action: 'localized-publish',
      },
      caused: [],
    },
  },
};

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

/** A row of the history, for examples. */
export const RELEASE_ROW_EXAMPLE: z.input<typeof ReleaseRowSchema> = {
  release_id: EXAMPLE.releaseId,
  channel: 'official',
  state: 'current',
  created_at: EXAMPLE.at - 86_400,
  published_at: EXAMPLE.at - 86_000,
  manifest: {
    blake3: EXAMPLE.snapshotId.slice('blake3:'.length),
    entry_count: 8123,
    total_bytes: 6_442_450_944,
  },
  artifact_integrity: { checked_at: EXAMPLE.at - 3600, ok: true, damaged: 0 },
};

const RESOURCES: z.input<typeof ResourcesAnswer.schema> = {
  release_id: EXAMPLE.releaseId,
  channel: 'official',
  snapshot_id: EXAMPLE.snapshotId,
  total: 8123,
  offset: 0,
  limit: 1,
  next_offset: 1,
  items: [
    {
      destination: EXAMPLE.destination,
      size: 524_288,
      blake3: EXAMPLE.blake3,
      crc64: '11051210869376104954',
      source: 'official',
      media_type: 'application/zip',
    },
  ],
};

/** An example of each answer that is no report. */
export const ANSWER_EXAMPLES = [
  example(AdminIndexAnswer, {
    service: { name: 'slipway', version: '0.1.0' },
    control: { exposed: true, path: '/admin/control/{action}' },
    token: { id: 'ops', scopes: ['operate'] },
    history: {
      server: 'slipway-0',
      from: EXAMPLE.at,
      requests: [120, 96],
      server_errors: [0, 0],
      sent_bytes: [73_400_320, 41_943_040],
      states: { official: ['healthy', 'healthy'], localized: ['unpublished', 'unpublished'] },
    },
    scrub: { pass: 3, share: 0.78, damage_found: 0, completed_at: EXAMPLE.at - 43_200 },
    links: [{ id: 'listTasks', path: '/admin/tasks', summary: 'The tasks of the daemon.' }],
    actions: [
      {
        action: 'sync',
        path: '/admin/control/sync',
        summary: 'Fetches the upstream release, verifies it and makes it the current official one.',
        mode: 'queued',
        destructive: false,
        allowed: true,
        required: [],
        used: ['force'],
      },
    ],
  }),
  example(AcceptedAnswer, {
    accepted: true,
    action: 'sync',
    task_id: EXAMPLE.taskId,
    status: 'queued',
    deduplicated: false,
    ignored_fields: [],
  }),
  example(ResourcesAnswer, RESOURCES),
  example(DistributionAnswer, {
    ...RESOURCES,
    since: `blake3:${'0'.repeat(64)}`,
    removed: ['TableBundles/Old.zip'],
    release: RELEASE_SUMMARY_EXAMPLE,
    distribution: VERDICT_EXAMPLE,
    header: {
      format: 'slipway-manifest',
      version: 1,
      channel: 'official',
      release_id: EXAMPLE.releaseId,
      entry_count: 8123,
      total_bytes: 6_442_450_944,
      app_version: '1.66.405117',
    },
    server_info: '{"ConnectionGroups":[]}',
    revalidated: {
      destination: EXAMPLE.destination,
      size: 524_288,
      blake3: EXAMPLE.blake3,
      verified_at: EXAMPLE.at,
    },
  }),
  example(ServerInfoAnswer, {
    ConnectionGroups: [
      {
        Name: 'Prod-Audit',
        OverrideConnectionGroups: [
          {
            Name: '1.66',
            AddressablesCatalogUrlRoot: `https://resources.example.org/cdn.example.net/${EXAMPLE.releaseId}`,
          },
        ],
      },
    ],
  }),
  example(HealthAnswer, {
    status: 'ok',
    version: '0.1.0',
    uptime_seconds: 86_400,
    refresh: {
      last_attempt_at: EXAMPLE.at,
      last_success_at: EXAMPLE.at,
      consecutive_failures: 0,
      last_error_code: null,
    },
    daemon: { answers: true, failure: null, since: null, message: null },
    attestation: { version: 1042, issued_at: EXAMPLE.at, expires_at: EXAMPLE.at + 600, age_seconds: 12 },
    verdicts: {
      official: {
        distributable: true,
        reason: null,
        message: VERDICT_EXAMPLE.message,
        since: VERDICT_EXAMPLE.since,
        release_id: EXAMPLE.releaseId,
      },
      localized: {
        distributable: false,
        reason: 'ReleaseNotAuthorized',
        message: 'attestation version 1042 authorizes no localized release',
        since: EXAMPLE.at,
        release_id: null,
      },
    },
    announced: {
      official: { release_id: 'r90_two', current_at: EXAMPLE.at + 300 },
      localized: null,
    },
    service: SERVICE_EXAMPLE,
  }),
  example(LauncherBootstrapAnswer, {
    source: `/cdn.example.net/${EXAMPLE.releaseId}`,
    file: [{ path: `/${EXAMPLE.destination}`, hash: '11051210869376104954', size: '524288' }],
    distribution: VERDICT_EXAMPLE,
  }),
  example(LauncherGameConfigAnswer, {
    code: 200,
    data: {
      game_lowest_version: '1.66.0',
      game_latest_version: '1.66.0',
      game_latest_file_path: 'prod/BlueArchive_JP-1.66.0-game.zip',
      game_start_exe_name: 'BlueArchive',
      game_file_size: '',
      game_file_size_type: '',
      crc64: '',
      size: 0,
      file_url: '',
      decompression_size: '6GB',
      config_id: 0,
      game_start_params: [],
    },
    msg: 'OK',
  }),
  example(LauncherConfigJsonAnswer, {
    code: 200,
    data: { url: 'https://resources.example.org/v1/launcher/bootstrap' },
    msg: 'OK',
  }),
  example(LauncherCdnAnswer, {
    code: 200,
    data: { back_up_cdn: 'https://resources.example.org', primary_cdn: 'https://resources.example.org' },
    msg: 'OK',
  }),
  example(ReleaseAnswer, {
    release: RELEASE_SUMMARY_EXAMPLE,
    distribution: VERDICT_EXAMPLE,
    announced: null,
    cdn_host: 'cdn.example.net',
    attestation: {
      payloadType: 'application/vnd.in-toto+json',
      payload: 'eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==',
      signatures: [{ keyid: EXAMPLE.blake3, sig: 'c2lnbmF0dXJl' }],
    },
  }),
  example(ReleasesAnswer, {
    total: 1,
    releases: [RELEASE_ROW_EXAMPLE],
  }),
  example(BootstrapAnswer, {
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
  }),
  example(ReadinessAnswer, VERDICT_EXAMPLE),
] as const;

function example<T extends z.ZodType>(answer: Answer<T>, value: z.input<T>): readonly [Answer, unknown] {
  return [answer, value];
}

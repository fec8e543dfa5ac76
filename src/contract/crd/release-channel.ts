import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import { RELEASE_ID_PATTERN } from '../../domain/release/release-id.ts';
import { RELEASE_STATES } from '../schemas/vocabulary.ts';
import { DURATION_PATTERN } from './duration.ts';
import { LOCALIZATION_JOBS } from './localization-jobs.ts';
import { REQUESTED_AT_MAX } from './resource-names.ts';

/** Maximum number of releases in `status.history`. */
export const HISTORY_MAX = 10;
/** Maximum number of pods in `status.pods`. */
export const PODS_MAX = 100;
/** Maximum number of edges that are asked for their release; the others are only counted. */
export const EDGES_MAX = 200;
/** Releases of edges in a status. */
export const EDGE_RELEASES_MAX = 10;
/** Maximum number of blockers in `status.localization`. */
export const BLOCKERS_MAX = 16;
/** Longest message, characters. Source: metav1.Condition. */
export const MESSAGE_MAX = 1024;

interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** Metadata that becomes part of the rendered schema. */
function cel(...rules: readonly CelRule[]): { readonly 'x-kubernetes-validations': readonly CelRule[] } {
  return { 'x-kubernetes-validations': rules };
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** A duration between two bounds; the API server checks them. */
function duration(least: string, what: string): z.ZodString {
  return z
    .string()
    .min(2)
    .max(24)
    .regex(DURATION_PATTERN)
    .describe(`${what}, such as 15m or 1h30m; from ${least} to 8760h.`)
    .meta(
      cel({
        rule: `duration(self) >= duration('${least}') && duration(self) <= duration('8760h')`,
        message: `must be from ${least} to 8760h`,
      }),
    );
}

const ScheduleSpecSchema = z.object({
  action: z.enum(LOCALIZATION_JOBS).describe('The job, such as worker-run or localized-publish.'),
  args: z
    .array(
      z
        .string()
        .min(3)
        .max(1024)
        .regex(/^[a-z_]+=/),
    )
    .max(16)
    .describe('Arguments of the job as key=value; the daemon checks them.')
    .optional(),
  interval: duration('1m', 'Time between two runs'),
});

export const ReleaseChannelSpecSchema = z
  .object({
    channel: z
      .enum(CHANNELS)
      .describe('The release channel of the server that this object represents. Cannot be changed.')
      .meta(cel({ rule: 'self == oldSelf', message: 'cannot be changed: create another ReleaseChannel' })),
    serverRef: z
      .object({
        name: z
          .string()
          .min(1)
          .max(63)
          .regex(DNS_LABEL)
          .describe('Name of the Service, in the namespace of this object. Cannot be changed.')
          .meta(
            cel({
              rule: 'self == oldSelf',
              message: 'cannot be changed: create another ReleaseChannel',
            }),
          ),
        port: z.int().min(1).max(65_535).describe('Port of the Service that targets slipway-server.'),
      })
      .describe('The Service in front of the slipway-server pods.'),
    adminTokenSecretRef: z
      .object({
        name: z
          .string()
          .min(1)
          .max(253)
          .regex(DNS_SUBDOMAIN)
          .describe('Name of the Secret, in the namespace of this object.'),
        key: z
          .string()
          .min(1)
          .max(253)
          .regex(/^[-._a-zA-Z0-9]+$/)
          .describe('Key in the Secret whose value is the token.'),
      })
      .describe('The admin token of the server.'),
    sync: z
      .object({ interval: duration('30s', 'Time between two syncs') })
      .describe(
        'How often upstream is synced; replaces sync.intervalSeconds of the daemon while this object exists. Absent: the interval of the daemon applies.',
      )
      .optional(),
    verify: z
      .object({ interval: duration('1m', 'Time between two full verifications') })
      .describe(
        'How often every byte is verified; replaces verify.intervalSeconds of the daemon while this object exists. Absent: the interval of the daemon applies.',
      )
      .optional(),
    retention: z
      .object({
        keep: z.int().min(1).max(1000).describe('Releases of each channel that the daily cleanup keeps.'),
      })
      .describe(
        'How many releases are kept; the daily cleanup replaces the one of the daemon while this object exists. Absent: the cleanup of the daemon applies.',
      )
      .optional(),
    schedules: z
      .array(ScheduleSpecSchema)
      .max(LOCALIZATION_JOBS.length)
      .describe(
        'Jobs of localization that run regularly, one entry for each action. A schedule replaces the one with the same action in the configuration of the daemon while it exists.',
      )
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['action'] })
      .optional(),
    release: z
      .string()
      .min(1)
      .max(128)
      .regex(RELEASE_ID_PATTERN)
      .describe(
        'The release that should be current. Localized: the operator publishes it or makes it current again, and pauses scheduled publications. Official: once it is current, the operator pauses syncs.',
      )
      .optional(),
    suspend: z
      .boolean()
      .default(false)
      .describe(
        'Disables syncs and cleanups and takes no action; verdicts are still reported. The daemon still verifies at its own interval, because an unverified release stops being served.',
      ),
  })
  .meta(
    cel(
      {
        rule: "!has(self.sync) || self.channel == 'official'",
        message: 'sync is for the official channel: a localized release is published, not fetched',
      },
      {
        rule: "!has(self.retention) || self.channel == 'official'",
        message: 'retention counts for both channels of a server: set it on the official ReleaseChannel',
      },
      {
        rule: "!has(self.schedules) || self.channel == 'localized'",
        message: 'schedules are jobs of localization: set them on the localized ReleaseChannel',
      },
    ),
  )
  .describe('The desired state.');

export type ReleaseChannelSpec = z.infer<typeof ReleaseChannelSpecSchema>;

const Timestamp = z.string().describe('RFC 3339, UTC.').meta({ format: 'date-time' });
const Message = z.string().max(MESSAGE_MAX);

const ConditionSchema = z.object({
  // Not an enumeration: an operator of another version may know other types.
  type: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z]+$/)
    .describe('The type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z
    .string()
    .max(1024)
    .describe('A reason of the verdict catalogue or of the operator; see the reference.'),
  message: Message.describe('For people.'),
  lastTransitionTime: Timestamp.describe('When the status last changed.'),
  observedGeneration: z.int().min(0).describe('The generation of the spec that this condition refers to.'),
});

export type ChannelCondition = z.infer<typeof ConditionSchema>;

const CurrentReleaseSchema = z
  .object({
    id: z.string().describe('The served release.'),
    snapshotId: z.string().describe('Digest of its manifest.').optional(),
    since: Timestamp.describe('When the first pod started to serve it.').optional(),
    verifiedAt: Timestamp.describe('The last full verification of its bytes.').optional(),
    attestationVersion: z.int().min(1).describe('Version of the attestation that authorizes it.').optional(),
    attestationExpiresAt: Timestamp.describe('When that attestation expires.').optional(),
  })
  .describe('The current release.');

const SYNC_RESULTS = ['Changed', 'Unchanged', 'Failed', 'Cancelled'] as const;

export type SyncResult = (typeof SYNC_RESULTS)[number];

const SyncStatusSchema = z
  .object({
    result: z
      .enum(SYNC_RESULTS)
      .describe('The result of the last sync that ended. Absent before the first one ended.')
      .optional(),
    finishedAt: Timestamp.describe('When that sync ended.').optional(),
    reason: z.string().describe('The failure code of that sync.').optional(),
    message: Message.describe('Why that sync failed or was cancelled.').optional(),
    nextAt: Timestamp.describe('When the next planned sync starts. Absent when none is planned.').optional(),
    consecutiveFailures: z.int().min(0).describe('Failed syncs since the last success.'),
  })
  .describe(
    'How fetching from upstream goes, for the official channel. Of several daemons the one with the most failures in a row.',
  );

const LocalizationStatusSchema = z
  .object({
    baseRelease: z
      .string()
      .describe('The official release that the current localized one is built on.')
      .optional(),
    stale: z
      .boolean()
      .describe('Whether another official release is current. Absent: none is published.')
      .optional(),
    officialRelease: z
      .string()
      .describe('The current official release, which the counts are about.')
      .optional(),
    targetLanguage: z.string().describe('Language of the translations (BCP 47).'),
    coverage: z
      .string()
      .max(8)
      .describe(
        'Part of the units that a publication would localize, such as 97%. Absent: the tasks are not built yet, or 10,000 units or more are on hold.',
      )
      .optional(),
    units: z
      .object({
        total: z.int().min(0).describe('All units.'),
        ready: z
          .int()
          .min(0)
          .describe('Units that a publication would localize. Absent: 10,000 units or more are on hold.')
          .optional(),
        accepted: z.int().min(0).describe('Proofread units.'),
        translated: z.int().min(0).describe('Translated and proofread units.'),
        blocked: z.int().min(0).describe('Units with blocking findings.'),
        skipped: z.int().min(0).describe('Units of skipped tasks.'),
      })
      .describe('Units of text.'),
    blockers: z
      .array(
        z.object({
          code: z.string().max(64),
          message: Message,
          count: z.int().min(0),
        }),
      )
      .max(BLOCKERS_MAX)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Why units would keep the official text, or nothing can be published.'),
    automation: z
      .object({ state: z.string().max(32), message: Message })
      .describe('Whether the localized release follows the official one automatically.'),
  })
  .describe('Translation of the current official release, for the localized channel.');

const EdgesStatusSchema = z
  .object({
    count: z.int().min(0).describe('Edges that are not shutting down.'),
    ready: z.int().min(0).describe('Edges that get requests.'),
    atRelease: z
      .int()
      .min(0)
      .describe(`Edges that serve the current release, of the first ${EDGES_MAX} by name.`),
    summary: z.string().max(32).describe('Edges that serve the current release, of all.'),
    slowest: z
      .object({
        name: z.string().describe('Name of the pod, or its address.'),
        release: z
          .string()
          .describe('The release that it is bound to. Absent: it has none yet, or does not answer.')
          .optional(),
      })
      .describe('The edge that is furthest behind. Absent when all serve the current release.')
      .optional(),
    releases: z
      .array(
        z.object({
          release: z.string(),
          count: z.int().min(1).describe('Edges that are bound to it.'),
        }),
      )
      .max(EDGE_RELEASES_MAX)
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['release'] })
      .describe(
        `How many edges are at which release, the newest release first, of the first ${EDGES_MAX} edges by name; at most ${EDGE_RELEASES_MAX} releases. Absent when no edge has one.`,
      )
      .optional(),
  })
  .describe('The edges of this origin. Absent when no Service has the label slipway.dev/edges-of.');

const HistoryRowSchema = z.object({
  id: z.string(),
  state: z.enum(RELEASE_STATES),
  createdAt: Timestamp,
  publishedAt: Timestamp.optional(),
  checkedAt: Timestamp.describe('The last full verification.').optional(),
  damaged: z.int().min(0).describe('Entries that did not match then.'),
});

const PodVerdictSchema = z.object({
  name: z.string().describe('Name of the pod, or its address.'),
  serving: z.enum(['True', 'False', 'Unknown']).describe('Whether it serves the channel.'),
  reason: z
    .string()
    .describe('The reason if it does not serve, from the verdict catalogue or from the operator.')
    .optional(),
  message: Message.optional(),
  release: z.string().describe('The release it is bound to.').optional(),
  since: Timestamp.describe('When this last changed.').optional(),
});

export type PodVerdict = z.infer<typeof PodVerdictSchema>;

/** The findings of the operator. */
export const ReleaseChannelStatusSchema = z
  .object({
    observedGeneration: z.int().min(0).describe('The generation of the spec that the operator last handled.'),
    observedAt: Timestamp.describe(
      'When the operator last confirmed this status: when it changed, else every 5 minutes, or at the interval of the operator if that is longer.',
    ).optional(),
    conditions: z
      .array(ConditionSchema)
      .max(16)
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
      .describe('Ready, Reconciling and Stalled as kstatus reads them, and the stages of the verdict.'),
    release: CurrentReleaseSchema.optional(),
    sync: SyncStatusSchema.optional(),
    localization: LocalizationStatusSchema.optional(),
    servingPods: z.string().max(32).describe('Pods that serve the channel, of all pods.'),
    pods: z
      .array(PodVerdictSchema)
      .max(PODS_MAX)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('One verdict per pod, ordered by name.'),
    edges: EdgesStatusSchema.optional(),
    history: z
      .array(HistoryRowSchema)
      .max(HISTORY_MAX)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('The last releases of the channel, newest first.'),
    lastHandledReconcileAt: z
      .string()
      .max(REQUESTED_AT_MAX)
      .describe(
        'The last value of the annotation slipway.dev/requestedAt whose task has ended and whose result is in this status.',
      )
      .optional(),
  })
  .describe('The observed state.');

export type ReleaseChannelStatus = z.infer<typeof ReleaseChannelStatusSchema>;

/** A status as it is stored: a definition of another version may lack fields that this version always writes. */
export const StoredStatusSchema = ReleaseChannelStatusSchema.extend({
  observedGeneration: z.int().min(0).default(0),
  conditions: z.array(ConditionSchema).default([]),
  servingPods: z.string().default(''),
  pods: z.array(PodVerdictSchema).default([]),
  history: z.array(HistoryRowSchema).default([]),
});

import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { RETAINED_MAX_RELEASES } from '../../contract/formats/attestation-format.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { listenHost } from '../../platform/http/listen-host.ts';
import { isLoopbackHost } from '../../platform/http/loopback.ts';
import { LOG_LEVELS } from '../../platform/logging/logging.ts';
import { backupConfigurationSchema } from '../backup/backup-config.ts';
import { memoryConfigurationSchema } from '../../localization/memory/memory-config.ts';
import { glossaryConfigurationSchema } from '../../localization/glossary/glossary-config.ts';
import { localizedConfigurationSchema } from '../../localization/localized/localized-config.ts';
import { parseConfigurationSchema } from '../../localization/parse/rules/parse-config.ts';
import { translationConfigurationSchema } from '../../localization/translation/translation-config.ts';
import { originOfLocalized, upstreamConfigurationSchema } from '../../upstream/upstream-config.ts';

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;

/** Shortest {@link verifyIntervalSeconds}: a quarter of the shortest `attestation.maxVerifyAgeSeconds`. */
const VERIFY_INTERVAL_MIN = 15;

/** An interval in seconds, or 0 for none. */
function intervalOrNone(least: number) {
  return z
    .int()
    .min(0)
    .max(YEAR_SECONDS)
    .refine((seconds) => seconds === 0 || seconds >= least, `must be 0, or at least ${least}`);
}

const filePath = z.string().min(1).max(4096);

const listen = z
  .strictObject({
    host: z
      .string()
      .refine(
        isLoopbackHost,
        'must be a loopback address (127.0.0.1, ::1, localhost): the API is for this pod only',
      )
      .default('127.0.0.1')
      .describe('Address of the loopback API.'),
    port: z.int().min(0).max(65_535).default(8091).describe('TCP port; 0 picks a free one.'),
    socketPath: z
      .string()
      .min(1)
      // The limit of sun_path on Linux and macOS, the terminator counted.
      .max(103, 'must be at most 103 characters, the limit of the system for socket paths')
      .optional()
      .describe('Unix socket to listen on instead of host and port.'),
    allowedHosts: z
      .array(
        z
          .string()
          .max(255)
          .regex(
            /^[a-z0-9.:[\]-]+$/,
            'must be a host name or an address in lower case, without scheme and path',
          ),
      )
      .max(16)
      .default([])
      .describe(
        'Host names that callers may use besides those of loopback, without a port. Requests for other hosts are refused.',
      ),
  })
  .prefault({})
  .describe('Where the server reaches the daemon.');

const metrics = z
  .strictObject({
    host: listenHost('Address of the metrics port'),
    port: z.int().min(0).max(65_535).describe('TCP port of /metrics; 0 picks a free one.'),
  })
  .optional()
  .describe('Metrics of the daemon, on a port of their own. Absent: none.');

const attestation = z
  .strictObject({
    signingKeyFiles: z
      .array(filePath)
      .min(1, 'must name at least one Ed25519 private key; "slipway keygen" creates one')
      .max(8)
      .describe(
        'Files with Ed25519 private keys (PKCS #8 PEM). The daemon signs with each of them, so that keys can be rotated.',
      ),
    ttlSeconds: z
      .int()
      .min(10)
      .max(DAY_SECONDS)
      .default(600)
      .describe('How long an attestation is valid; the daemon renews it after a third of that time.'),
    maxVerifyAgeSeconds: z
      .int()
      .min(60)
      .max(YEAR_SECONDS)
      .default(7 * DAY_SECONDS)
      .describe('Maximum age of the last full verification; an older release is no longer attested.'),
  })
  .describe('Attestations and their signing keys.');

const retention = z
  .strictObject({
    keep: z.int().min(1).max(1000).default(3).describe('Releases that release-cleanup keeps per channel.'),
    retainedCount: z
      .int()
      .min(0)
      .max(RETAINED_MAX_RELEASES / CHANNELS.length)
      .default(2)
      .describe(
        'Number of earlier releases of each channel that stay reachable under their own path, however old they are.',
      ),
    retainedSeconds: z
      .int()
      .min(0)
      .max(YEAR_SECONDS)
      .default(DAY_SECONDS)
      .describe(
        `How long every earlier release stays reachable, so that clients can finish; at most ${RETAINED_MAX_RELEASES / CHANNELS.length} releases of each channel.`,
      ),
    graceSeconds: z
      .int()
      .min(0)
      .max(YEAR_SECONDS)
      .default(DAY_SECONDS)
      .describe('Objects younger than this are never removed.'),
    cleanupIntervalSeconds: intervalOrNone(60)
      .default(DAY_SECONDS)
      .describe('Time between two cleanups; 0: none are scheduled.'),
  })
  .prefault({})
  .describe('Retention of releases.');

/** The schema of `exchange` in the configuration of the daemon. */
const exchangeConfigurationSchema = z.strictObject({
  root: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'Folder of the files that jobs import and export, which their argument `file` names relative to it. Mount a volume here that people reach, not that of snapshot.root. Default: exchange in data.dir.',
    ),
});

/** The parsed `exchange` section. */
type ExchangeConfiguration = z.output<typeof exchangeConfigurationSchema>;

/** The schema of the daemon's configuration. Unknown keys are refused. */
export const daemonConfigurationSchema = z
  .strictObject({
    listen,
    metrics,
    tokenFile: filePath
      .optional()
      .describe(
        'File with the token that callers must send; created with a random token if it is missing, reloaded when it changes. Default: api.token in data.dir.',
      ),
    requireToken: z
      .boolean()
      .default(true)
      .describe(
        'Whether callers must send the token. Without it every process of this machine can run actions.',
      ),
    strict: z
      .boolean()
      .default(false)
      .describe(
        'Whether weak secrets stop the start: a token shorter than 16 characters, a key or a token that every user can read. Otherwise they are warnings.',
      ),
    snapshot: z
      .strictObject({
        root: filePath.describe('The snapshot volume; the daemon is its only writer.'),
        reserveBytes: z
          .int()
          .min(0)
          .max(2 ** 50)
          .default(8 * 1024 * 1024)
          .describe(
            'Bytes that a sync leaves free on the volume; a sync that would need them does not start.',
          ),
        adopt: z
          .boolean()
          .default(false)
          .describe(
            'Whether to use a store that a daemon with other signing keys attested. `--adopt-store` is short for this flag; remove it after the first start.',
          ),
      })
      .describe('The store that the server reads.'),
    data: z
      .strictObject({
        dir: filePath.describe(
          'Folder of the databases, private to this daemon and on a local file system: never on the shared volume.',
        ),
      })
      .describe('Private data of the daemon.'),
    attestation,
    upstream: upstreamConfigurationSchema.prefault({}).describe('Where official releases come from.'),
    retention,
    releases: z
      .strictObject({
        announceSeconds: z
          .int()
          .min(0)
          .max(DAY_SECONDS)
          .default(0)
          .describe(
            'How long before its switch a new release is announced, so that edges have its bytes by then; 0: it becomes current immediately. An edge follows the announcements of its origin instead.',
          ),
        switchLeadSeconds: z
          .int()
          .min(1)
          .max(DAY_SECONDS)
          .default(15)
          .describe(
            'How long before its switch the nearer time of an announced release is stated, when the switch is brought forward; longer than the poll interval of the edges, for each tier of them. With at least announceSeconds, no switch is brought forward.',
          ),
      })
      .prefault({})
      .describe('Switches of releases.'),
    sync: z
      .strictObject({
        onStart: z.boolean().default(true).describe('Whether a sync is queued when the daemon starts.'),
        intervalSeconds: intervalOrNone(30)
          .default(900)
          .describe('Time between two syncs; 0: none are scheduled. Each daemon starts at a random phase.'),
      })
      .prefault({})
      .describe('Fetching of releases.'),
    verify: z
      .strictObject({
        concurrency: z
          .int()
          .min(1)
          .max(32)
          .default(2)
          .describe('Objects that a verification reads concurrently.'),
        intervalSeconds: z
          .int()
          .min(VERIFY_INTERVAL_MIN)
          .max(YEAR_SECONDS)
          .optional()
          .describe(
            'Time between two full verifications of each current release; at most half of attestation.maxVerifyAgeSeconds. Absent: a day, or a quarter of attestation.maxVerifyAgeSeconds when that is shorter.',
          ),
      })
      .prefault({})
      .describe('Verification of releases.'),
    repair: z
      .strictObject({
        automatic: z
          .boolean()
          .default(true)
          .describe(
            'Whether the daemon repairs damage as soon as it is known, and retries with growing waits. Off: damage waits for the repair action.',
          ),
      })
      .prefault({})
      .describe('Repair of damaged files.'),
    parse: parseConfigurationSchema
      .prefault({})
      .describe('Text units of releases: which strings are translatable text, and how they are found.'),
    backup: backupConfigurationSchema
      .prefault({})
      .describe('Backups of the databases that hold human work: memory, glossary, translation.'),
    exchange: exchangeConfigurationSchema.prefault({}).describe('Files that people and the daemon exchange.'),
    translation: translationConfigurationSchema
      .prefault({})
      .describe('Translation of text units: its languages, tasks and providers.'),
    memory: memoryConfigurationSchema.prefault({}).describe('The Translation Memory.'),
    glossary: glossaryConfigurationSchema
      .prefault({})
      .describe('The Glossary: terms and their translations.'),
    localized: localizedConfigurationSchema
      .prefault({})
      .describe('Localized releases: what goes into them, and when they are published.'),
    hashing: z
      .strictObject({
        threads: z.int().min(1).max(64).default(2).describe('Threads that hash.'),
      })
      .prefault({})
      .describe('Processor time for hashing.'),
    log: z
      .strictObject({
        level: z.enum(LOG_LEVELS).default('info').describe('Minimum level of log lines.'),
      })
      .prefault({})
      .describe('The log on standard output.'),
    supervised: z
      .boolean()
      .default(false)
      .describe('Whether a supervisor restarts the daemon when it exits; allows the restart action.'),
  })
  .superRefine((configuration, context) => {
    const { snapshot, data, backup, exchange, verify, attestation: limits } = configuration;
    for (const { path, message } of mirrorConflicts(configuration)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if (isInside(snapshot.root, data.dir)) {
      context.addIssue({
        code: 'custom',
        path: ['data', 'dir'],
        message: 'must not lie in snapshot.root: databases do not belong on the volume that the server reads',
      });
    }
    if (backup.folder !== undefined && isInside(snapshot.root, backup.folder)) {
      context.addIssue({
        code: 'custom',
        path: ['backup', 'folder'],
        message: 'must not lie in snapshot.root: backups do not belong on the volume that the server reads',
      });
    }
    if (exchange.root !== undefined && isInside(snapshot.root, exchange.root)) {
      context.addIssue({
        code: 'custom',
        path: ['exchange', 'root'],
        message:
          'must not lie in snapshot.root: files of people do not belong on the volume that the server reads',
      });
    }
    const longest = Math.floor(limits.maxVerifyAgeSeconds / 2);
    if (verify.intervalSeconds !== undefined && verify.intervalSeconds > longest) {
      context.addIssue({
        code: 'custom',
        path: ['verify', 'intervalSeconds'],
        message: `must be at most ${longest}, half of attestation.maxVerifyAgeSeconds: a release that is not verified in time is no longer attested`,
      });
    }
  })
  .describe('Configuration of slipway-daemon.');

/** Settings that write texts although the localized channel is a copy of the origin's. */
function mirrorConflicts({ upstream, localized, translation }: DaemonConfiguration): readonly {
  readonly path: readonly string[];
  readonly message: string;
}[] {
  if (originOfLocalized(upstream) === null) return [];
  const { kind } = upstream;
  const message = `cannot be combined with upstream.kind "${kind}": the localized channel is copied from the origin, where it is translated; remove it, or mirror only the official channel (upstream.${kind}.channels)`;
  return [
    ...(localized.auto ? [{ path: ['localized', 'auto'], message }] : []),
    ...(translation.provider === undefined ? [] : [{ path: ['translation', 'provider'], message }]),
  ];
}

/** The configuration with which a daemon runs: one that copies the localized channel leaves texts alone. */
export function effectiveConfiguration(configuration: DaemonConfiguration): DaemonConfiguration {
  if (originOfLocalized(configuration.upstream) === null) return configuration;
  const { parse, translation } = configuration;
  return {
    ...configuration,
    parse: { ...parse, automatic: false },
    translation: { ...translation, automatic: false },
  };
}

function isInside(folder: string, path: string): boolean {
  const inside = relative(resolve(folder), resolve(path));
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** The parsed configuration of the daemon. */
export type DaemonConfiguration = z.output<typeof daemonConfigurationSchema>;

/** Seconds between two verifications: the configured ones, or a default well below the maximum age. */
export function verifyIntervalSeconds({
  verify,
  attestation: { maxVerifyAgeSeconds },
}: DaemonConfiguration): number {
  return verify.intervalSeconds ?? Math.min(DAY_SECONDS, Math.floor(maxVerifyAgeSeconds / 4));
}

/** The file with the token that callers must send, or `null` if they need none. */
export function tokenFileOf({ requireToken, tokenFile, data }: DaemonConfiguration): string | null {
  return requireToken ? (tokenFile ?? join(data.dir, 'api.token')) : null;
}

/** The folder on which files for people are exchanged. */
export function exchangeRootOf({ root }: ExchangeConfiguration, dataDirectory: string): string {
  return root ?? join(dataDirectory, 'exchange');
}

import { z } from 'zod';

import { TOKEN_ID } from '../../contract/actions/control-scopes.ts';
import { RUNBOOK_ADDRESS, RUNBOOK_BASE } from '../../contract/problems/problem-links.ts';
import { CONTROL_SCOPES } from '../../contract/schemas/vocabulary.ts';
import { parseNetwork } from '../../platform/http/networks.ts';
import { CHANNEL_CHOICES, CHANNELS } from '../../domain/release/channel.ts';
import { isLoopbackHost } from '../../platform/http/loopback.ts';
import { requireGlob } from '../../platform/config/glob-schema.ts';

const MEBIBYTE = 1024 * 1024;
const HOST_SEGMENT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const FIRST_SEGMENTS_TAKEN = new Set(['healthz', 'readyz', 'v1', 'api', 'admin', 'openapi.yaml', 'metrics']);

const port = z.int().min(0).max(65_535);

/** The first problem of a public base URL, or `null`. */
function publicBaseUrlProblem(text: string): string | null {
  if (!URL.canParse(text)) return 'is not a URL; give scheme and host, such as https://resources.example.org';
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'must begin with http:// or https://, because launchers fetch from it';
  if (url.username !== '' || url.password !== '') return 'must not carry credentials';
  if (url.search !== '' || url.hash !== '')
    return 'must not have a query or fragment: launchers append text to it';
  if (url.pathname !== '/' || text.endsWith('/')) {
    return 'must be scheme, host and port only, without path and trailing slash: launchers drop or overwrite any path, so serve it from the root of a dedicated host';
  }
  return null;
}

function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, username } = new URL(text);
  return (
    protocol === 'http:' && isLoopbackHost(hostname) && pathname === '/' && search === '' && username === ''
  );
}

const listen = z
  .strictObject({
    host: z.string().min(1).default('0.0.0.0').describe('Address to listen on.'),
    port: port.default(8080).describe('TCP port; 0 picks a free one.'),
  })
  .prefault({})
  .describe('Where clients, launchers and probes reach the server.');

const metrics = z
  .strictObject({
    host: z.string().min(1).default('0.0.0.0').describe('Address of the metrics port.'),
    port: port.default(9090).describe('TCP port of /metrics; 0 picks a free one.'),
  })
  .prefault({})
  .describe('Where Prometheus reaches the server.');

const cdn = z
  .strictObject({
    host: z
      .string()
      .regex(HOST_SEGMENT, 'must be one lower-case host-shaped path segment')
      .refine((host) => !FIRST_SEGMENTS_TAKEN.has(host), 'is the first segment of another route')
      .default('prod-clientpatch.bluearchiveyostar.com')
      .describe('The fixed first path segment of every resource path.'),
    defaultChannel: z
      .enum(CHANNELS)
      .default('official')
      .describe('The channel of resource paths without a release id.'),
  })
  .prefault({})
  .describe('CDN-shaped delivery.');

/** Whether text is an origin exactly as browsers send it, such as `https://play.example.org`. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const cors = z
  .strictObject({
    origins: z
      .array(
        z
          .string()
          .refine(
            (text) => text === '*' || isOrigin(text),
            'must be * or an origin such as https://play.example.org, without a path and a slash at the end',
          ),
      )
      .max(64)
      .default(['*'])
      .describe(
        'Origins whose pages may read resource bytes and /v1 in a browser, without credentials; * allows all, an empty list none. * is wrong where only the network protects the server: any page that is open in a browser inside can then read it. List the origins there, or none.',
      ),
  })
  .prefault({})
  .describe('Reads by pages of other origins (CORS).');

const daemon = z
  .strictObject({
    url: z
      .string()
      .refine(isLoopbackUrl, 'must be http:// on a loopback address, without a path')
      .default('http://127.0.0.1:8091')
      .describe('The daemon on loopback. Not used when socketPath is set.'),
    socketPath: z.string().min(1).optional().describe('Unix socket of the daemon.'),
    tokenFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The token file of the daemon: its tokenFile, by default api.token in the daemon's data.dir.",
      ),
    timeoutMs: z
      .int()
      .min(50)
      .max(120_000)
      .default(5_000)
      .describe('Total time for one answer, in addition to the wait of a long poll.'),
    waitSeconds: z
      .int()
      .min(0)
      .max(60)
      .default(20)
      .describe('How long one poll for a new attestation may wait.'),
  })
  .prefault({})
  .describe('The backend daemon.');

const serverInfo = z
  .strictObject({
    channel: z
      .enum(CHANNEL_CHOICES)
      .default('official')
      .describe('The channel whose release AddressablesCatalogUrlRoot points at.'),
    keepOverrides: z
      .array(z.string().min(1))
      .max(64)
      .default([])
      .describe('Names of OverrideConnectionGroups whose root is not rewritten.'),
  })
  .prefault({})
  .describe('The rewritten server-info document.');

const runbooks = z
  .strictObject({
    url: z
      .string()
      .regex(RUNBOOK_ADDRESS, 'must begin with http:// or https://, without credentials, query and fragment')
      .overwrite((url) => (url.endsWith('/') ? url : `${url}/`))
      .default(RUNBOOK_BASE)
      .describe(
        'Where docs/runbooks is published. Problems with a reason and the console link to REASON.md below it.',
      ),
  })
  .prefault({})
  .describe('The runbooks.');

const globs = z.array(z.string().max(512).superRefine(requireGlob)).max(64).default([]);

const tokenLimits = z
  .strictObject({
    requestsPerSecond: z
      .number()
      .min(0.001)
      .max(100_000)
      .optional()
      .describe('Requests per second. Default: any.'),
    burst: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'Requests that may come at the same time; needs requestsPerSecond. Default: those of one second.',
      ),
    concurrentRequests: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Requests whose answers have not ended. Default: any number.'),
  })
  .refine(({ burst, requestsPerSecond }) => burst === undefined || requestsPerSecond !== undefined, {
    path: ['burst'],
    message: 'needs requestsPerSecond',
  });

const launcher = z
  .strictObject({
    channel: z
      .enum(CHANNEL_CHOICES)
      .default('official')
      .describe('The channel whose release launchers install.'),
    include: globs.describe(
      'Globs of the destinations that launchers install, such as TableBundles/**; none means all.',
    ),
    exclude: globs.describe(
      'Globs of destinations that launchers do not install, such as {Android,iOS}_PatchPack/**.',
    ),
    gameLowestVersion: z
      .string()
      .max(64)
      .optional()
      .describe('Lowest version that clients may run; default: the version of the release.'),
    gameLatestVersion: z
      .string()
      .max(64)
      .optional()
      .describe('Version that launchers show; default: the version of the release.'),
    gameLatestFilePath: z
      .string()
      .regex(/^[^/\\].*\.zip$/, 'must be a relative path that ends in .zip')
      .optional()
      .describe('Path that launchers send back to config/json; default: derived from the release id.'),
    gameStartExeName: z.string().min(1).default('BlueArchive').describe('Executable the launcher starts.'),
    gameStartParams: z
      .array(z.string())
      .max(64)
      .default([])
      .describe('Arguments the launcher passes to the executable.'),
    decompressionSize: z
      .string()
      .regex(
        /^[0-9]{1,9}(?:\.[0-9]{1,3})? ?(?:B|KB|MB|GB|TB)$/,
        'must be a number with a unit, such as 6.5GB (1 GB is 1024³ bytes)',
      )
      .optional()
      .describe(
        'Required space that launchers show, such as 6.5GB (1 GB is 1024³ bytes); default: the sizes of the files that launchers install.',
      ),
  })
  .prefault({})
  .describe('Values of the launcher-compatible endpoints.');

const scrub = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Whether the server continuously reads and verifies everything it serves, including files that nobody requests.',
      ),
    bytesPerSecond: z
      .int()
      .min(65_536)
      .default(16 * MEBIBYTE)
      .describe('Maximum number of bytes that the scrub reads per second; fewer while the server is busy.'),
    share: z
      .number()
      .min(0.001)
      .max(1)
      .default(0.1)
      .describe('Maximum share of the time that the scrub may work, 0 to 1; less while the server is busy.'),
    restSeconds: z
      .number()
      .min(1)
      .max(604_800)
      .default(600)
      .describe('How long the scrub pauses after each pass.'),
    stateFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File that stores the position of the scrub across restarts, in a folder that the server may write; without it, the scrub starts at a random position.',
      ),
  })
  .prefault({})
  .describe('The continuous verification of all served files.');

const limits = z
  .strictObject({
    maxConnections: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(8_192)
      .describe(
        'Maximum number of open connections. At the limit, the connection that has been idle for longest is closed for a new one.',
      ),
    maxConnectionsPerAddress: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe(
        'Maximum number of open connections of one client address (of one /64 network of IPv6), for each worker process; 0: no limit. Behind a proxy, list it in trustedProxies.',
      ),
    trustedProxies: z
      .array(
        z
          .string()
          .refine(
            (text) => parseNetwork(text) !== null,
            'must be an address or a network such as 10.0.0.0/8',
          ),
      )
      .max(64)
      .default([])
      .describe('Addresses and networks (CIDR) of proxies, which maxConnectionsPerAddress does not limit.'),
    headersTimeoutMs: z
      .int()
      .min(100)
      .default(10_000)
      .describe('Time for a client to send a request head, milliseconds.'),
    requestTimeoutMs: z
      .int()
      .min(100)
      .default(30_000)
      .describe('Time for a client to send a whole request, milliseconds.'),
    keepAliveTimeoutMs: z
      .int()
      .min(0)
      .default(65_000)
      .describe('How long an idle connection stays open, milliseconds; longer than the ingress keeps it.'),
    maxHeaderBytes: z
      .int()
      .min(1_024)
      .max(MEBIBYTE)
      .default(16 * 1_024)
      .describe('Maximum size of a request head, bytes.'),
    revalidations: z
      .int()
      .min(1)
      .max(64)
      .default(2)
      .describe('Entries that /v1/distribution re-reads and hashes concurrently.'),
  })
  .prefault({})
  .describe('Bounds on clients.');

/** Configuration of the distribution server: file, environment (`SLIPWAY_...`) and flags share these names. */
export const serverConfigurationSchema = z.strictObject({
  workers: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe('Worker processes that share the port; each needs its own memory.'),
  listen,
  metrics,
  publicBaseUrl: z
    .string({ error: 'is required: scheme and host that clients use, such as https://resources.example.org' })
    .superRefine((text, context) => {
      const problem = publicBaseUrlProblem(text);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    })
    .describe(
      'Scheme, host and port that clients use to reach this server; every URL that it returns starts with it.',
    ),
  cdn,
  cors,
  snapshot: z
    .strictObject({
      root: z.string().min(1).describe('Mount point of the snapshot volume; the server only reads it.'),
    })
    .describe('The snapshot volume.'),
  daemon,
  attestation: z
    .strictObject({
      publicKeyFiles: z
        .array(z.string().min(1))
        .min(1, 'needs at least one public key to verify attestations')
        .max(16)
        .describe(
          'PEM files with trusted Ed25519 public keys, or folders of them; reloaded when they change.',
        ),
    })
    .describe('Trusted signing keys.'),
  serverInfo,
  auth: z
    .strictObject({
      public: z
        .enum(['open', 'token'])
        .default('open')
        .describe('Whether public routes also require an admin token; probes never do.'),
      tokens: z
        .array(
          z.strictObject({
            file: z.string().min(1).describe('A file with one token. Reloaded when it changes.'),
            id: z
              .string()
              .regex(TOKEN_ID)
              .optional()
              .describe(
                'Names the token in audit lines and histories. Default: the beginning of its digest.',
              ),
            allow: z
              .array(z.enum(CONTROL_SCOPES))
              .min(1)
              .optional()
              .describe(
                'Groups of control actions that the token may call; every valid token may read, and run jobs that only read (`text-differences`). Default: all.',
              ),
            limits: tokenLimits
              .optional()
              .describe(
                'Limits of the requests with this token, in each worker process. A request beyond them gets 429 with `Retry-After`. Default: none.',
              ),
          }),
        )
        .max(64)
        .default([])
        .describe(
          'Tokens besides those of `admin.tokenFiles`, which may do everything: `file`, `id`, `allow`, and in `limits` `requestsPerSecond`, `burst` and `concurrentRequests`.',
        ),
    })
    .prefault({})
    .describe('Access to the public routes, and tokens with limited rights.'),
  admin: z
    .strictObject({
      tokenFiles: z
        .array(z.string().min(1))
        .max(16)
        .default([])
        .describe(
          'Files with one token each that may do everything; several for rotation. Reloaded when they change.',
        ),
      exposeControl: z.boolean().default(false).describe('Whether control actions are forwarded.'),
    })
    .prefault({})
    .describe('The admin surface.'),
  strict: z
    .boolean()
    .default(false)
    .describe(
      'Whether weak secrets stop the start: a token shorter than 16 characters, or one that every user can read. Otherwise they are warnings.',
    ),
  runbooks,
  launcher,
  cache: z
    .strictObject({
      blockBytes: z
        .int()
        .min(0)
        .default(256 * MEBIBYTE)
        .describe(
          'Memory for verified blocks of resource bytes, including spare read buffers, bytes; 0 turns the cache off.',
        ),
    })
    .prefault({})
    .describe('Memory budgets.'),
  fastPath: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe(
          'Whether plain GET and HEAD requests for resource bytes are answered in front of the full HTTP server, with the same responses.',
        ),
    })
    .prefault({})
    .describe('The fast path for plain requests.'),
  limits,
  shutdown: z
    .strictObject({
      propagationDelaySeconds: z
        .number()
        .min(0)
        .max(300)
        .default(5)
        .describe('How long the server accepts requests after readiness has become 503.'),
      drainSeconds: z
        .number()
        .min(0)
        .max(3_600)
        .default(30)
        .describe('How long requests in flight may take to finish after that.'),
    })
    .prefault({})
    .describe('The shutdown after SIGTERM.'),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('Minimum level of log lines.'),
      access: z
        .enum(['all', 'control', 'none'])
        .default('all')
        .describe(
          'Which requests are logged at level info: all, all except resource bytes and probes, or none.',
        ),
    })
    .prefault({})
    .describe('Logging.'),
  scrub,
  verification: z
    .strictObject({
      threads: z.int().min(1).max(64).default(1).describe('Worker threads that hash resource bytes.'),
    })
    .prefault({})
    .describe('Verification of resource bytes.'),
});

/** The distribution server's configuration with all defaults filled in. */
export type ServerConfiguration = z.output<typeof serverConfigurationSchema>;
